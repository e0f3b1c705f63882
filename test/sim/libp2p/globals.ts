// Time and chance of a whole process, for code that takes them from Node instead of being given them: libp2p's timers,
// dates and random bytes come from a simulated world until they are put back. What a node sets going belongs to that node,
// through promises and timers, so a node that dies takes it along, as a process does. What belongs to none, such as the rest
// of an earlier test in this process, gets the real ones.

import { AsyncLocalStorage } from 'node:async_hooks'
import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import type { Life } from '../node/disk.ts'
import { EPOCH, type Random, type World } from '../world.ts'

const lives = new AsyncLocalStorage<Life>()

/** Runs something on behalf of a node: none of its timers fires after the node's death. */
export const inLife = <Result>(life: Life, run: () => Result): Result => lives.run(life, run)

/** What `setTimeout` and its like return. Only what libraries use of it. */
class Timer {
  private cancel = (): void => {}
  private readonly start: () => () => void
  constructor(start: () => () => void) {
    this.start = start
    this.refresh()
  }
  refresh(): this {
    this.cancel()
    this.cancel = this.start()
    return this
  }
  close(): void {
    this.cancel()
  }
  ref(): this {
    return this
  }
  unref(): this {
    return this
  }
  hasRef(): boolean {
    return true
  }
}

/** Returns what puts everything back. */
export function replaceGlobals(world: World): () => void {
  const now = (): number => Math.floor(EPOCH + world.time)
  const later = (ms: number, run: () => void): (() => void) => {
    const life = lives.getStore()
    return world.after(ms, () => {
      if (life === undefined) run()
      else if (life.isAlive) lives.run(life, run)
    })
  }
  const once = (run: (...args: unknown[]) => void, ms = 0, ...args: unknown[]) =>
    new Timer(() => later(Math.max(1, ms), () => run(...args)))
  const repeated = (run: (...args: unknown[]) => void, ms = 0, ...args: unknown[]) =>
    new Timer(() => {
      let cancel = (): void => {}
      const next = (): void => {
        cancel = later(Math.max(1, ms), () => {
          next()
          run(...args)
        })
      }
      next()
      return () => cancel()
    })
  const clearing =
    (real: (timer?: never) => void) =>
    (timer?: unknown): void =>
      timer instanceof Timer ? timer.close() : real(timer as never)
  /** By length, since a library may keep bytes for later, or still have some of an earlier simulation. */
  const streams = new Map<number, Random>()
  const bytes = (length: number): Uint8Array => {
    const stream = streams.get(length) ?? world.random(`${length} bytes`)
    streams.set(length, stream)
    return stream.bytes(length)
  }
  const fill = <Into extends ArrayBufferView>(into: Into): Into => {
    new Uint8Array(into.buffer, into.byteOffset, into.byteLength).set(bytes(into.byteLength))
    return into
  }
  const RealDate = Date
  class VirtualDate extends RealDate {
    constructor(...of: [] | [number | string | Date]) {
      super(of[0] ?? now())
    }
    static override now = now
  }
  const timeout = (ms: number): AbortSignal => {
    const controller = new AbortController()
    later(ms, () => controller.abort(new DOMException('The operation timed out', 'TimeoutError')))
    return controller.signal
  }
  const undo = [
    ...replaced(globalThis, {
      setTimeout: ofNode(once, setTimeout),
      setInterval: ofNode(repeated, setInterval),
      setImmediate: ofNode((run: () => void) => once(run), setImmediate),
      ...{ clearTimeout: clearing(clearTimeout), clearInterval: clearing(clearInterval) },
      ...{ clearImmediate: clearing(clearImmediate), Date: VirtualDate },
    }),
    ...replaced(performance, { now: () => world.time }),
    ...replaced(Math, { random: ofNode(world.random('Math').next, Math.random) }),
    ...replaced(AbortSignal, { timeout: ofNode(timeout, AbortSignal.timeout.bind(AbortSignal)) }),
    ...replaced(crypto.webcrypto, {
      getRandomValues: ofNode(fill, crypto.webcrypto.getRandomValues.bind(crypto.webcrypto)),
    }),
    ...replaced(crypto, {
      randomBytes: ofNode((count: number) => Buffer.from(bytes(count)), crypto.randomBytes),
      randomUUID: ofNode(() => Buffer.from(bytes(16)).toString('hex'), crypto.randomUUID),
    }),
  ]
  syncBuiltinESMExports()
  return () => {
    for (const back of undo) back()
    syncBuiltinESMExports()
  }
}

/** The simulated one where a node calls it, else the real one. */
function ofNode(simulated: (...args: never[]) => unknown, real: (...args: never[]) => unknown) {
  return (...args: never[]) => (lives.getStore() === undefined ? real : simulated)(...args)
}

function replaced(of: object, by: Record<string, unknown>): (() => void)[] {
  return Object.entries(by).map(([name, value]) => {
    const had = Object.getOwnPropertyDescriptor(of, name)
    Object.defineProperty(of, name, { value, configurable: true, writable: true, enumerable: true })
    return () => {
      if (had) Object.defineProperty(of, name, had)
      else delete (of as Record<string, unknown>)[name]
    }
  })
}
