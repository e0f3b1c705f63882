// G36: SIGTERM to a daemon that trains, once and twice.

import { setTimeout as sleep } from 'node:timers/promises'
import { startDaemon, temporary } from '../../test/e2e/daemon.ts'
import type { Row } from './row.ts'

const SECOND_AFTER_MS = 30

/** Starts a daemon, and ends it once it trains; how it ended, and after how many ms of the last signal. */
async function end(signals: readonly NodeJS.Signals[]) {
  const folder = await temporary()
  try {
    const node = await startDaemon(`${folder.path}/home`, { args: ['up', '--no-swarm'] })
    await node.until('it trains', ({ training }) => training!.step >= 1, 120_000)
    let sent = 0
    for (const [i, signal] of signals.entries()) {
      if (i > 0) await sleep(SECOND_AFTER_MS)
      sent = performance.now()
      process.kill(node.pid, signal)
    }
    const { status, signal, stderr } = await node.finished
    return {
      ms: performance.now() - sent,
      how: String(status ?? signal),
      saved: stderr.includes('"type":"checkpoint"'),
    }
  } finally {
    await folder.remove()
  }
}

export async function stops({ count }: { count: number }): Promise<Row> {
  const [once, twice] = [[], []] as [Awaited<ReturnType<typeof end>>[], Awaited<ReturnType<typeof end>>[]]
  for (let i = 0; i < count; i++) {
    once.push(await end(['SIGTERM']))
    twice.push(await end(['SIGTERM', 'SIGTERM']))
  }
  const killed = await end(['SIGKILL'])
  const longest = (of: typeof once) => Math.max(...of.map(({ ms }) => ms))
  const statuses = (of: typeof once) => [...new Set(of.map(({ how }) => how))].join(', ')
  const saved = once.filter((one) => one.saved).length
  return {
    goal: 'G36',
    tried: `${count} times SIGTERM, ${count} times again after ${SECOND_AFTER_MS} ms`,
    result:
      `once: ${saved} saved, at most ${longest(once).toFixed(0)} ms, status ${statuses(once)}; ` +
      `twice: at most ${longest(twice).toFixed(0)} ms, ${statuses(twice)}`,
    control: `SIGKILL: ${killed.saved ? 'saved' : 'nothing saved'}`,
    isMet: saved === count && longest(once) <= 3000 && statuses(once) === '0' && longest(twice) <= 1000,
  }
}
