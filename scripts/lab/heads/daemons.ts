// What does a daemon save that averages its weights with others, by its own processor time?
// `npm run -s lab:heads-daemons [-- --arms 1,2,4 --groups 40,80,160 --seeds 1,2,3]`
//
// Daemons with empty homes and a node's defaults on this machine, but for evaluations, and one thread each. An arm is a
// number of daemons, in a private swarm. Each is looked at whenever it has written so many more own groups: it is paused,
// and evaluates, which is not part of the cost. Seeds only number the runs.

import { readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { runExperiment } from '../frame/experiment.ts'
import { costTo, showReached } from '../frame/reach.ts'
import { markdown, mean, show, summary } from '../frame/statistics.ts'
import { type NodeProcess, startNode } from '../nodes/process.ts'

interface Look {
  node: number
  ownGroups: number
  steps: number
  /** Of this daemon, without its evaluations. */
  processorSeconds: number
  /** By the clock, evaluations of all daemons included. */
  seconds: number
  bytesIn: number
  /** Peers whose weights are averaged. */
  peers: number
  sampled: number
}

await runExperiment<number, { looks: Look[] }>({
  question:
    'How much processor time of its own does a daemon need to a held-out accuracy, alone and where weights are averaged?',
  defaults: { arms: '1,4', rates: '1e-4', seeds: '1', out: 'docs/results/heads-daemons.jsonl' },
  flags: {
    every: { type: 'string', default: '40' },
    looks: { type: 'string', default: '8' },
    prompts: { type: 'string', default: '120' },
    targets: { type: 'string', default: '0.10,0.11,0.12' },
  },
  settings: ({ every, looks, prompts }) => ({
    every: Number(every),
    looks: Number(looks),
    prompts: Number(prompts),
  }),
  arm(name) {
    const nodes = Number(name)
    if (!Number.isInteger(nodes) || nodes < 1)
      throw new Error(`no arm "${name}"; an arm is a number of daemons`)
    return nodes
  },

  async play(count, { rate, values, log }) {
    const [every, most, prompts] = [Number(values.every), Number(values.looks), Number(values.prompts)]
    const place = await mkdtemp(join(tmpdir(), 'waggle-heads-'))
    const nodes = await startAll(count, { place, rate })
    const started = performance.now()
    const looks = await Promise.all(
      nodes.map((node, i) => watch(node, { i, every, most, prompts, started, log })),
    )
    await Promise.all(nodes.map((node) => node.stop()))
    await rm(place, { recursive: true })
    return { looks: looks.flat() }
  },

  table(runs, values) {
    const targets = String(values.targets).split(',').map(Number)
    const arms = [...new Set(runs.map(({ arm }) => arm))].sort((a, b) => Number(a) - Number(b))
    const byNode = (arm: string): Look[][] =>
      runs
        .filter((run) => run.arm === arm)
        .flatMap(({ looks }) => Object.values(Object.groupBy(looks, ({ node }) => node)) as Look[][])
    return markdown(
      [
        ...['daemons', 'runs', 'held-out at the last look'],
        ...targets.flatMap((target) => [`own groups to ${target}`, 'processor s']),
      ],
      arms.map((arm) => {
        const curves = byNode(arm)
        const costs = (unit: (look: Look) => number, target: number): string =>
          showReached(
            curves.map((looks) =>
              costTo(
                target,
                looks.map((look) => ({ cost: unit(look), accuracy: look.sampled })),
              ),
            ),
          )
        return [
          ...[arm, String(runs.filter((run) => run.arm === arm).length)],
          show(summary(curves.map((looks) => mean(looks.slice(-3).map(({ sampled }) => sampled))))),
          ...targets.flatMap((target) => [
            costs(({ ownGroups }) => ownGroups, target),
            costs(({ processorSeconds }) => processorSeconds, target),
          ]),
        ]
      }),
    )
  },
})

interface Watching {
  i: number
  every: number
  most: number
  prompts: number
  started: number
  log(line: string): void
}

async function watch(
  node: NodeProcess,
  { i, every, most, prompts, started, log }: Watching,
): Promise<Look[]> {
  const looks: Look[] = []
  const { pid } = (await node.snapshot()).node
  let atLooks = processorSeconds(pid)
  while (looks.length < most) {
    let at = await node.snapshot()
    while ((at.rollouts?.generated ?? 0) < every * looks.length) {
      await sleep(250)
      at = await node.snapshot()
    }
    await node.pause()
    const before = processorSeconds(pid)
    const { accuracy } = await node.evaluate(prompts)
    looks.push({
      node: i,
      ...{ ownGroups: at.rollouts?.generated ?? 0, steps: at.training?.step ?? 0 },
      ...{ processorSeconds: before - atLooks, seconds: (performance.now() - started) / 1000 },
      ...{ bytesIn: at.heads?.bytesIn ?? 0, peers: at.heads?.peers.length ?? 0, sampled: accuracy },
    })
    log(`daemon ${i}: ${JSON.stringify(looks.at(-1))}`)
    atLooks += processorSeconds(pid) - before
    await node.resume()
  }
  return looks
}

/** User and system time of a process, in the kernel's ticks of 1/100 s. */
function processorSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ')
  return (Number(fields[11]) + Number(fields[12])) / 100
}

/** All wait until the last one is there, so that the first is not ahead. */
async function startAll(
  count: number,
  { place, rate }: { place: string; rate: number },
): Promise<NodeProcess[]> {
  const nodes: NodeProcess[] = []
  for (let i = 0; i < count; i++) {
    const home = join(place, `${i}`)
    await mkdir(home)
    const config = [
      `[engine]\nthreads = 1`,
      `[eval]\nevery_seconds = 0`,
      `[training]\nlearning_rate = ${rate}`,
      `[swarm]\nlisten = ["/ip4/127.0.0.1/tcp/0"]\nlan = "off"${i === 0 ? '\nprivate = true' : ''}\n`,
    ]
    await writeFile(join(home, 'config.toml'), config.join('\n'))
    const node = await startNode(home)
    await node.pause()
    nodes.push(node)
    if (i > 0) await node.join(await nodes[0]!.invite())
  }
  await Promise.all(nodes.map((node) => node.resume()))
  return nodes
}
