// G37: what a node's log and record keep of an attack. One stranger reconnects as fast as it can, one floods, one sends
// nonsense, all to a real node with the daemon's journal, log file and record of the run.

import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { multiaddr } from '@multiformats/multiaddr'
import { createEventLog } from '../../daemon/control/journal/event-log.ts'
import { createJournal } from '../../daemon/control/journal/journal.ts'
import { createLogFile } from '../../daemon/control/journal/log-file.ts'
import { createRunFile } from '../../daemon/control/journal/run-file.ts'
import { REASON_NAMES } from '../../daemon/swarm/admission/reasons.ts'
import { createTrainedOn } from '../../daemon/trainer/trained-on.ts'
import type { Event, Snapshot } from '../../protocol/api/index.ts'
import { draft, freshIdentity, startNode, stopNodes } from '../../test/swarm/helpers.ts'
import { publish, signedGroup, startAttacker, stopAttackers } from '../../test/swarm/hostile/attacker.ts'
import type { Row } from './row.ts'

const NO_SERIES = { newest: async () => [], append: () => {} } as unknown as Parameters<
  typeof createJournal
>[1]['steps']

export async function noise({ seconds }: { seconds: number }): Promise<Row> {
  const folder = await mkdtemp(join(tmpdir(), 'waggle-noise-'))
  const events = createEventLog({}, { clock: Date.now })
  const journal = await createJournal(
    { learningRate: () => 0, logFile: '' },
    {
      ...{ events, showcase: { add: () => {} } as never, steps: NO_SERIES, evaluations: NO_SERIES },
      ...{ trainedOn: createTrainedOn({ now: Date.now }), now: Date.now },
    },
  )
  const log = createLogFile({ path: join(folder, 'node.jsonl') }, { events })
  const run = createRunFile(
    { directory: join(folder, 'runs') },
    { events, snapshot: () => ({}) as Snapshot, clock: Date.now },
  )
  const victim = await startNode({}, { onEvent: (event) => journal.swarm(event), log: journal.log })

  const [restless, flooder, liar] = [
    await startAttacker(victim.address),
    await startAttacker(victim.address),
    await startAttacker(victim.address),
  ]
  const { signer } = freshIdentity()
  for (let i = 0; i < 8; i++) await publish(liar, new Uint8Array(100).fill(i))
  for (let i = 0; i < 6000; i++)
    void publish(flooder, signedGroup(draft(i % 50, { salt: `${i % 400}` }), signer))
  let connections = 0
  const end = performance.now() + 1000 * seconds
  while (performance.now() < end) {
    await restless.hangUp(multiaddr(victim.address)).catch(() => {})
    if (await restless.dial(multiaddr(victim.address)).catch(() => undefined)) connections++
  }
  const { refused } = victim.swarm.counters()
  await stopAttackers()
  await stopNodes()
  await log.close()
  await run.close()
  const lines = (await readFile(join(folder, 'node.jsonl'), 'utf8')).trim().split('\n')
  const kept = await readFile(run.path)
  await rm(folder, { recursive: true })

  const perSecond = new Map<string, number>()
  for (const line of lines) {
    const event = JSON.parse(line) as Event
    const peer = event.type === 'peer' ? event.peer : event.type === 'log' ? String(event.data?.peer) : ''
    const key = `${peer} ${Math.floor(event.time / 1000)}`
    perSecond.set(key, (perSecond.get(key) ?? 0) + 1)
  }
  const most = Math.max(...perSecond.values())
  const isClosed = Object.keys(refused).every((reason) => (REASON_NAMES as string[]).includes(reason))
  return {
    goal: 'G37',
    tried: `${seconds} s of ${connections} connections of one peer, a flood of 6000 messages and 8 broken ones`,
    result:
      `${lines.length} lines in the log, at most ${most} of one peer in a second; ${(kept.length / 1000).toFixed(0)} kB in the record of the run; ` +
      `refused ${JSON.stringify(refused)}`,
    control: `a line for each that connects and leaves would be ${2 * connections}`,
    isMet: most <= 10 && isClosed && Object.keys(refused).length >= 2 && kept.length < 10e6,
  }
}
