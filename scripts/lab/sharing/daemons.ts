// Do daemons learn from each other's rollouts? `npm run -s lab:daemons [-- --arms 1,4 --groups 80,160,320 --seeds 1,2]`
//
// Daemons with empty homes and a node's defaults on this machine, but for evaluations: one at the start, and those that are
// asked for here. An arm is a number of daemons. Each but the first gets only the first one's peer ID. A node is looked at
// each time it has written so many own groups, and goes on, so that its peers keep theirs. Seeds only number the runs.
// `--training 'batch_groups = 4,batch_ramp_steps = 0'` sets keys of the config's section. Without a `method` among them all
// parameters are trained.

import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { runExperiment } from '../frame/experiment.ts'
import type { Values } from '../frame/flags.ts'
import { type NodeProcess, startNode } from '../nodes/process.ts'
import { type DaemonLook, savingsTable } from './daemons-table.ts'

await runExperiment<number, { looks: DaemonLook[] }>({
  question: 'How many own groups does a daemon need to the same held-out accuracy, alone and with peers?',
  defaults: { arms: '1,2', rates: '1e-4', seeds: '1', out: 'docs/results/daemons.jsonl' },
  flags: {
    groups: { type: 'string', default: '80,160,320' },
    training: { type: 'string', default: '' },
    prompts: { type: 'string', default: '200' },
  },
  settings: settingsOf,
  isComparable({ settings }, values) {
    const now = settingsOf(values)
    return values.show === true
      ? settings.training === now.training
      : JSON.stringify(settings) === JSON.stringify(now)
  },
  arm(name) {
    const nodes = Number(name)
    if (!Number.isInteger(nodes) || nodes < 1)
      throw new Error(`no arm "${name}"; an arm is a number of daemons`)
    return nodes
  },

  async play(count, { rate, values, log }) {
    const { groups, training, prompts } = settingsOf(values)
    const config = [
      `[swarm]\nname = "experiment-${process.pid}"\nlisten = ["/ip4/127.0.0.1/tcp/0"]`,
      `[eval]\nevery_seconds = 3600\nprompts_per_task = ${prompts}`,
      `[training]\n${training.includes('method') ? '' : 'method = "full"\n'}learning_rate = ${rate}\n${training.replaceAll(',', '\n')}\n`,
    ].join('\n')
    const place = await mkdtemp(join(tmpdir(), 'waggle-daemons-'))
    const nodes = await startAll(count, { place, config })
    const started = performance.now()
    const looks: DaemonLook[] = []
    await Promise.all(
      nodes.map(async (node, i) => {
        for (const wanted of groups) {
          let at = await node.snapshot()
          while ((at.rollouts?.generated ?? 0) < wanted) {
            await sleep(500)
            at = await node.snapshot()
          }
          const seconds = Math.round((performance.now() - started) / 1000)
          const { accuracy, greedy } = await node.evaluate(prompts)
          looks.push({
            ...{ node: i, seconds, groups: wanted, own: at.rollouts?.generated ?? 0 },
            ...{ steps: at.training?.step ?? 0, foreign: at.rollouts?.trainedForeign ?? 0 },
            ...{ sampled: accuracy, ...(greedy && { greedy: greedy.accuracy }) },
          })
          log(`node ${i}, ${wanted} own groups, ${seconds} s: ${accuracy.toFixed(3)}`)
        }
      }),
    )
    await Promise.all(nodes.map((node) => node.stop()))
    await rm(place, { recursive: true })
    return { looks: looks.sort((a, b) => a.node - b.node || a.groups - b.groups) }
  },

  table: savingsTable,
})

function settingsOf({ groups, training, prompts }: Values) {
  return {
    training: String(training),
    groups: String(groups).split(',').map(Number),
    prompts: Number(prompts),
  }
}

/** All wait until the last one is there, so that the first is not ahead. */
async function startAll(
  count: number,
  { place, config }: { place: string; config: string },
): Promise<NodeProcess[]> {
  const nodes: NodeProcess[] = []
  for (let i = 0; i < count; i++) {
    const home = join(place, `${i}`)
    await mkdir(home)
    await writeFile(join(home, 'config.toml'), config)
    const node = await startNode(home)
    await node.pause()
    nodes.push(node)
    if (i > 0) await node.join((await nodes[0]!.snapshot()).node.peerId)
  }
  await Promise.all(nodes.map((node) => node.resume()))
  return nodes
}
