// What does a daemon save that averages its weights with others, by its own processor time?
// `npm run -s lab:heads-daemons [-- --arms '4 apart,4' --every 40 --looks 8 --seeds 1,2,3]`
//
// Daemons with empty homes and a node's defaults on this machine, but for evaluations, and one thread each. An arm is a
// number of daemons in a private swarm; `4 apart` are as many that know nothing of each other, since a daemon that shares
// a core with others needs more time for the same work; `4 apart batch 4` have that batch. `4 lora` train an adapter at `--lora-rate`, so
// they are of another lineage, and `4 and 4 lora` are one swarm of both. Compare arms with as many daemons on a core: what
// a daemon's connections take each second is more for a group the more slowly it writes. `--networks`: each daemon has a
// network namespace (as root).
//
// The first is looked at whenever it has written so many more own groups: all are paused while it evaluates, which is not
// part of the cost. Where there are several, a newcomer joins at the end, beside the first alone; both are looked at
// `--catch-up` seconds later, three minutes by default. `0`: none joins. Seeds only number the runs.

import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { runExperiment } from '../frame/experiment.ts'
import { costTo, showReached } from '../frame/reach.ts'
import { markdown, mean, show, summary } from '../frame/statistics.ts'
import { createNetworks, type Networks } from '../nodes/networks.ts'
import { type NodeProcess, startNode } from '../nodes/process.ts'

interface Look {
  /** Of the first daemon. */
  ownGroups: number
  steps: number
  /** Of one daemon, as a mean over all, without evaluations. */
  processorSeconds: number
  /** By the clock, evaluations included. */
  seconds: number
  /** The same without them. */
  clock: number
  bytesIn: number
  /** Peers whose weights are averaged. */
  peers: number
  /** Of the first daemon, trained on. */
  foreignGroups: number
  sampled: number
  /** The first daemon that trains an adapter, where there are both kinds. */
  other?: { ownGroups: number; foreignGroups: number; sampled: number }
}

/** Held-out accuracy of a daemon that joined at the end, and of the first, by the same questions. */
interface Newcomer {
  before: number
  after: number
  first: number
}

interface Arm {
  nodes: number
  /** The last so many train an adapter. */
  adapters: number
  isApart: boolean
  /** Groups of a batch; the default if left out. */
  batch?: number
}

/** Asking costs the daemon a few milliseconds. */
const POLL_MS = 1000

await runExperiment<Arm, { looks: Look[]; newcomer?: Newcomer }>({
  question:
    'How much processor time of its own does a daemon need to a held-out accuracy, alone and where weights are averaged?',
  defaults: { arms: '4 apart,4', rates: '1e-4', seeds: '1', out: 'docs/results/heads-daemons.jsonl' },
  flags: {
    every: { type: 'string', default: '40' },
    looks: { type: 'string', default: '8' },
    prompts: { type: 'string', default: '120' },
    'catch-up': { type: 'string', default: '180' },
    targets: { type: 'string', default: '0.10,0.11,0.12' },
    networks: { type: 'boolean', default: false },
    'lora-rate': { type: 'string', default: '1e-3' },
  },
  settings: ({ every, looks, prompts, networks, 'lora-rate': loraRate }) => ({
    ...{ every: Number(every), looks: Number(looks), prompts: Number(prompts) },
    ...(networks && { networks }),
    ...(loraRate !== '1e-3' && { loraRate }),
  }),
  arm(name) {
    const form = /^(\d+)(?: and (\d+))?( lora)?( apart)?(?: batch (\d+))?$/
    const [, nodes, others, lora, apart, batch] = form.exec(name) ?? []
    if (!Number(nodes) || (others !== undefined && !lora))
      throw new Error(`no arm "${name}"; an arm is as in "4", "4 lora", "4 and 4 lora", "4 apart batch 4"`)
    return {
      ...{ nodes: Number(nodes) + Number(others ?? 0), adapters: lora ? Number(others ?? nodes) : 0 },
      isApart: apart !== undefined,
      ...(batch === undefined ? {} : { batch: Number(batch) }),
    }
  },

  async play(arm, { rate, values, log }) {
    const [every, most, prompts] = [Number(values.every), Number(values.looks), Number(values.prompts)]
    const seconds = Number(values['catch-up'])
    const place = await mkdtemp(join(tmpdir(), 'waggle-heads-'))
    const networks = values.networks ? createNetworks(arm.nodes + 1) : undefined
    const rates = { full: rate, adapter: Number(values['lora-rate']) }
    const start = createStarter({ place, rates, networks })
    const nodes = await startAll(arm, start)
    const other = arm.adapters < arm.nodes ? nodes[arm.nodes - arm.adapters] : undefined
    const looks = await watch(nodes, { every, most, prompts, other, log })
    const first = nodes[0]!
    await Promise.all(nodes.slice(1).map((node) => node.stop()))
    const newcomer =
      nodes.length > 1 && !arm.isApart && seconds > 0
        ? await catchUp(first, start(arm.nodes, {}), { prompts, seconds })
        : undefined
    if (newcomer) log(JSON.stringify(newcomer))
    await first.stop()
    networks?.close()
    await rm(place, { recursive: true })
    return { looks, ...(newcomer && { newcomer }) }
  },

  table(runs, values) {
    const targets = String(values.targets).split(',').map(Number)
    const arms = [...new Set(runs.map(({ arm }) => arm))].sort()
    return markdown(
      [
        ...['daemons', 'runs', 'held-out at the last three looks', 'newcomer before, after, first'],
        ...targets.flatMap((target) => [`own groups to ${target}`, 'processor s']),
      ],
      arms.map((arm) => {
        const curves = runs.filter((run) => run.arm === arm).map(({ looks }) => looks)
        const costs = (unit: (look: Look) => number, target: number): string =>
          showReached(
            curves.map((looks) =>
              costTo(
                target,
                looks.map((look) => ({ cost: unit(look), accuracy: look.sampled })),
              ),
            ),
          )
        const newcomers = runs.flatMap((run) => (run.arm === arm ? (run.newcomer ?? []) : []))
        return [
          ...[arm, String(curves.length)],
          show(summary(curves.map((looks) => mean(looks.slice(-3).map(({ sampled }) => sampled))))),
          newcomers
            .map(({ before, after, first }) => [before, after, first].map((x) => x.toFixed(3)).join(' '))
            .join('; '),
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
  every: number
  most: number
  prompts: number
  other: NodeProcess | undefined
  log(line: string): void
}

/** Looks at the first daemon each time that it has written so many more own groups; all pause meanwhile. */
async function watch(
  nodes: readonly NodeProcess[],
  { every, most, prompts, other, log }: Watching,
): Promise<Look[]> {
  const [first] = nodes as [NodeProcess]
  const started = performance.now()
  const spent = (): number => mean(nodes.map((node) => node.processorSeconds()))
  const now = (): number => (performance.now() - started) / 1000
  let atLooks = spent()
  let evaluating = 0
  const looks: Look[] = []
  while (looks.length < most) {
    while (((await first.snapshot()).rollouts?.generated ?? 0) < every * looks.length) await sleep(POLL_MS)
    const paused = now()
    await Promise.all(nodes.map((node) => node.pause()))
    const before = spent()
    const { training, heads } = await first.snapshot()
    const at = await lookAt(first, prompts)
    looks.push({
      ...{ ...at, steps: training?.step ?? 0, processorSeconds: before - atLooks },
      ...{ seconds: now(), clock: paused - evaluating },
      ...{ bytesIn: heads?.bytesIn ?? 0, peers: heads?.peers.length ?? 0 },
      ...(other && { other: await lookAt(other, prompts) }),
    })
    log(JSON.stringify(looks.at(-1)))
    atLooks += spent() - before
    await Promise.all(nodes.map((node) => node.resume()))
    evaluating += now() - paused
  }
  return looks
}

/** A daemon with an empty home joins the first, which goes on training; both are looked at after so many seconds. */
async function catchUp(
  first: NodeProcess,
  starting: Promise<NodeProcess>,
  { prompts, seconds }: { prompts: number; seconds: number },
): Promise<Newcomer> {
  const node = await starting
  await node.pause()
  await first.pause()
  const { accuracy: before } = await node.evaluate(prompts)
  await Promise.all([node.resume(), first.resume()])
  await node.join(await first.invite())
  await sleep(1000 * seconds)
  await Promise.all([node.pause(), first.pause()])
  const [{ accuracy: after }, { accuracy }] = [await node.evaluate(prompts), await first.evaluate(prompts)]
  await node.stop()
  return { before, after, first: accuracy }
}

/** All wait until the last one is there, so that the first is not ahead. */
async function startAll(
  { nodes: count, adapters, isApart, batch }: Arm,
  start: ReturnType<typeof createStarter>,
): Promise<NodeProcess[]> {
  const nodes: NodeProcess[] = []
  for (let i = 0; i < count; i++) {
    const isAlone = isApart || i === 0
    const node = await start(i, { isPrivate: isAlone, batch, isAdapter: i >= count - adapters })
    await node.pause()
    nodes.push(node)
    if (!isAlone) await node.join(await nodes[0]!.invite())
  }
  await Promise.all(nodes.map((node) => node.resume()))
  return nodes
}

interface Kind {
  isPrivate?: boolean
  isAdapter?: boolean
  batch?: number | undefined
}

function createStarter({
  place,
  rates,
  networks,
}: {
  place: string
  rates: { full: number; adapter: number }
  networks: Networks | undefined
}) {
  return async (i: number, { isPrivate, isAdapter, batch }: Kind): Promise<NodeProcess> => {
    const home = join(place, `${i}`)
    await mkdir(home)
    const { command, address } = networks?.of(i) ?? { command: [], address: '127.0.0.1' }
    const config = [
      `[engine]\nthreads = 1`,
      `[eval]\nevery_seconds = 0`,
      `[training]\nlearning_rate = ${isAdapter ? rates.adapter : rates.full}`,
      `method = "${isAdapter ? 'lora' : 'full'}"`,
      ...(batch === undefined ? [] : [`batch_groups = ${batch}`]),
      `[swarm]\nlisten = ["/ip4/${address}/tcp/0"]\nlan = "off"${isPrivate ? '\nprivate = true' : ''}\n`,
    ]
    await writeFile(join(home, 'config.toml'), config.join('\n'))
    return startNode(home, [], { command })
  }
}

async function lookAt(node: NodeProcess, prompts: number) {
  const { rollouts } = await node.snapshot()
  const { accuracy: sampled } = await node.evaluate(prompts)
  return { ownGroups: rollouts?.generated ?? 0, foreignGroups: rollouts?.trainedForeign ?? 0, sampled }
}
