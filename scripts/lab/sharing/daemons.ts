// Do daemons learn from each other's rollouts? `npm run -s lab:daemons [-- --nodes 2 --minutes 5 --homes DIR]`
//
// Daemons with empty homes and a node's defaults on this machine, but for
// evaluations: one at the start, and those that are asked for here. Each but the first gets only the first one's peer ID.
// After some minutes, prints what each received, verified and trained on, how fast they found each other, their
// accuracy, and what their screens say about sharing.
//   --groups 320,640          looks at a node each time it has written so many own groups, however long that takes: with
//                             `--nodes 1` and `--nodes 4`, a node alone and one with three peers at equal own rollouts
//   --training own_groups=4   sets keys of the config's section
//   --out FILE                adds each look to a file, one JSON line each
//   --show                    prints what peers save by the looks in docs/results/together.jsonl, with these --training keys
//   --homes DIR               keeps the homes, with the records for `waggle top --replay`

import { appendFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import type { Evaluation, Snapshot } from '../../../protocol/api/index.ts'
import { thisMachine } from '../frame/machine.ts'
import { markdown } from '../frame/statistics.ts'
import { type NodeProcess, startNode } from '../nodes/process.ts'
import { type DaemonLook, savingsTable } from './daemons-table.ts'

const { values: flags } = parseArgs({
  options: {
    nodes: { type: 'string', default: '2' },
    minutes: { type: 'string', default: '5' },
    groups: { type: 'string' },
    training: { type: 'string', default: '' },
    prompts: { type: 'string', default: '200' },
    out: { type: 'string' },
    homes: { type: 'string' },
    show: { type: 'boolean', default: false },
  },
})
if (flags.show) {
  const lines = (await readFile('docs/results/together.jsonl', 'utf8')).trim().split('\n')
  const looks = lines.map((line) => JSON.parse(line) as DaemonLook)
  console.log(savingsTable(looks, flags.training))
  process.exit()
}
const place = flags.homes ?? (await mkdtemp(join(tmpdir(), 'waggle-together-')))
const prompts = Number(flags.prompts)
const config = `[swarm]\nname = "experiment-${process.pid}"\nlisten = ["/ip4/127.0.0.1/tcp/0"]\n[eval]\nevery_seconds = 3600\nprompts_per_task = ${prompts}\n[training]\n${flags.training.replaceAll(',', '\n')}\n`

const running: NodeProcess[] = []
const joined: number[] = []
for (let i = 0; i < Number(flags.nodes); i++) {
  const home = join(place, 'abcdefghijklmnop'[i]!)
  await mkdir(home, { recursive: true })
  await writeFile(join(home, 'config.toml'), config)
  running.push(await startNode(home))
  // Until all are there, so that the first is not ahead.
  await running[i]!.pause()
  if (i === 0) continue
  const asked = Date.now()
  await running[i]!.join((await running[0]!.snapshot()).node.peerId)
  joined.push(Date.now() - asked)
}

await Promise.all(running.map((node) => node.resume()))
const started = Date.now()

const isDone = ({ rollouts }: Snapshot, groups: number | undefined): boolean =>
  groups === undefined
    ? Date.now() - started >= Number(flags.minutes) * 60_000
    : (rollouts?.generated ?? 0) >= groups
interface Look {
  /** Own groups that it was to have written. */
  groups: number | undefined
  node: number
  at: Snapshot
  seconds: number
  last: Evaluation
}
const looks: Look[] = []
/** A node that is done goes on, so that its peers keep theirs. */
await Promise.all(
  running.map(async (node, i) => {
    for (const groups of flags.groups?.split(',').map(Number) ?? [undefined]) {
      let at = await node.snapshot()
      while (!isDone(at, groups)) {
        await sleep(500)
        at = await node.snapshot()
      }
      const seconds = (Date.now() - started) / 1000
      looks.push({ groups, node: i, at, seconds, last: await node.evaluate(prompts) })
    }
  }),
)
looks.sort((a, b) => a.node - b.node || a.seconds - b.seconds)
await Promise.all(running.map((node) => node.stop()))
if (flags.homes === undefined) await rm(place, { recursive: true })

if (flags.out !== undefined)
  for (const { groups, node, at, seconds, last } of looks) {
    const { rollouts, training } = at
    const row = {
      ...{ nodes: running.length, training: flags.training, node, seconds: Math.round(seconds) },
      ...{ groups, own: rollouts?.generated, steps: training?.step, foreign: rollouts?.trainedForeign },
      ...{ sampled: last.accuracy, greedy: last.greedy?.accuracy },
    }
    await appendFile(flags.out, `${JSON.stringify(row)}\n`)
  }

const percent = (share: number | undefined): string =>
  share === undefined ? '' : `${(100 * share).toFixed(1)} %`
console.log(`${thisMachine()}, all nodes; joined by peer ID in ${joined.join(', ') || 'no'} ms`)
console.log(
  markdown(
    [
      'node',
      'seconds',
      'own groups',
      'step',
      'verified',
      'foreign groups trained on',
      'refused',
      'sampled: start',
      'end',
      'greedy: start',
      'end',
      'verdict',
      'J',
    ],
    looks.map(({ node, at: { rollouts, training, evaluations, sharing }, seconds, last }) => [
      'abcdefghijklmnop'[node]!,
      seconds.toFixed(0),
      `${rollouts?.generated}`,
      `${training?.step}`,
      `${rollouts?.verified}`,
      `${rollouts?.trainedForeign}`,
      `${Object.values(rollouts?.refused ?? {}).reduce((a, b) => a + b, 0)}`,
      percent(evaluations?.[0]?.accuracy),
      percent(last.accuracy),
      percent(evaluations?.[0]?.greedy?.accuracy),
      percent(last.greedy?.accuracy),
      sharing ? `${sharing.verdict} after ${sharing.comparisons}` : '',
      `${sharing?.foreign ?? ''}`,
    ]),
  ),
)
