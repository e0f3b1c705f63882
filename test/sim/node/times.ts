// A life's clock, timers and log: nothing of it happens after its death.

import { EPOCH } from '../world.ts'
import type { Life } from './disk.ts'
import type { Lasting } from './lasting.ts'

export interface Times {
  clock: { now(): number; after(ms: number, run: () => void): () => void }
  after(ms: number, run: () => void): () => void
  sleep(ms: number): Promise<void>
  log(level: string, message: string, data?: Record<string, unknown>): void
}

export function timesOf(life: Life, { name, world, weather, checks }: Lasting): Times {
  const after = (ms: number, run: () => void) => world.after(ms, () => life.isAlive && run())
  return {
    after,
    clock: { now: () => Math.floor(EPOCH + world.time + weather.skew), after },
    sleep: (ms) => new Promise<void>((resolve) => void after(ms, resolve)),
    log(level, message, data) {
      world.note(`${name} ${level} ${message}`)
      if (message === 'admission failed' || message === 'a verified group could not be handed on')
        checks.failed(`${message}: ${JSON.stringify(data)}`)
    },
  }
}
