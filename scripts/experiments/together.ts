// Do two nodes learn from each other's rollouts? `npm run -s experiment:together [-- --minutes 5 --homes DIR]`
//
// Two daemons with empty homes on this machine; the second one gets only the first one's peer ID. After some minutes,
// prints what each received, verified and trained on, how fast they found each other, their accuracy, and what their
// screens say about sharing. With --homes, their homes are kept, with the records for `waggle top --replay`.

import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { thisMachine } from './machine.ts'
import { startNode } from './node-process.ts'

const { values: flags } = parseArgs({
  options: { minutes: { type: 'string', default: '5' }, homes: { type: 'string' } },
})
const place = flags.homes ?? (await mkdtemp(join(tmpdir(), 'waggle-together-')))
const homes = ['a', 'b'].map((name) => join(place, name))
for (const home of homes) {
  await mkdir(home, { recursive: true })
  await writeFile(
    join(home, 'config.toml'),
    `[swarm]\nname = "experiment-${process.pid}"\nlisten = ["/ip4/127.0.0.1/tcp/0"]\n[eval]\nprompts_per_task = 200\n`,
  )
}
const first = await startNode(homes[0]!)
const second = await startNode(homes[1]!)
const { node } = await first.snapshot()
const asked = Date.now()
await second.join(node.peerId)
const joinedMs = Date.now() - asked
let firstGroupMs: number | undefined
while (Date.now() - asked < Number(flags.minutes) * 60_000) {
  await sleep(200)
  if (firstGroupMs === undefined && ((await second.snapshot()).rollouts?.verified ?? 0) > 0)
    firstGroupMs = Date.now() - asked
}
console.log(`${thisMachine()}, both nodes`)
console.log(
  `joined by peer ID in ${joinedMs} ms, first foreign group verified after ${((firstGroupMs ?? Number.NaN) / 1000).toFixed(1)} s`,
)
console.log(
  '| node | step | published | received | verified | foreign groups trained on | refused | sampled: start | end | greedy: start | end | sharing | effect | weight | J |',
)
console.log(`|${'---|'.repeat(15)}`)
const percent = (share: number | undefined): string =>
  share === undefined ? '' : `${(100 * share).toFixed(1)} %`
for (const [i, running] of [first, second].entries()) {
  const last = await running.evaluate(200)
  const { rollouts, training, evaluations, sharing } = await running.snapshot()
  const refused = Object.values(rollouts?.refused ?? {}).reduce((a, b) => a + b, 0)
  const [start] = evaluations ?? []
  const effect =
    sharing?.effect === undefined
      ? ''
      : `${sharing.effect.toFixed(2)} (${sharing.low?.toFixed(2) ?? ''} to ${sharing.high?.toFixed(2) ?? ''})`
  console.log(
    `| ${'ab'[i]} | ${training?.step} | ${rollouts?.published} | ${rollouts?.received} | ${rollouts?.verified} | ${rollouts?.trainedForeign} | ${refused} | ${percent(start?.accuracy)} | ${percent(last.accuracy)} | ${percent(start?.greedy?.accuracy)} | ${percent(last.greedy?.accuracy)} | ${sharing?.verdict ?? ''} after ${sharing?.comparisons ?? 0} | ${effect} | ${sharing?.weight.toFixed(2) ?? ''} | ${sharing?.foreign ?? ''} |`,
  )
}
await Promise.all([first.stop(), second.stop()])
if (flags.homes === undefined) await rm(place, { recursive: true })
