// What does a node save that learns together with others by exchanging heads, against the best node alone?
// `npm run -s lab:heads [-- --arms '8 8x4,4 8x4 late2' --rates '8 8x4=4e-4,4 8x4 late2=2.8e-4' --seeds 1,2,3]`
//
// An arm is the number of nodes, prompts a round x optimizer steps a round, and conditions:
//   late2  a head takes 0 to 2 rounds to come   lost30  30 % of the heads never come
//   age8   each takes 8 rounds                       turn    nodes play one after another, as daemons do
// A node makes its head after each round. Alone is `1 8x2`. The model of three tasks at a node's default tasks, all
// parameters trained; looks at 360 held-out questions at temperature 1, which are not part of the cost. `--setting
// sparse`: its answers seldom have the form that counts. `--setting real --model FILE.gguf`: an adapter is trained on the
// file's blocks, on `number_sorting` as in lab:real. `--rank 16`: an adapter of this rank, whatever the setting;
// 0 trains all parameters.

import { basename } from 'node:path'
import { runExperiment } from '../frame/experiment.ts'
import { costTo, showReached } from '../frame/reach.ts'
import { markdown, mean, show, summary } from '../frame/statistics.ts'
import { startOf } from '../sharing/settings.ts'
import { createHeadSwarm } from './swarm.ts'

interface Arm {
  nodes: number
  prompts: number
  minibatches: number
  conditions: Map<string, number>
}

export interface HeadLook {
  /** Of a node, as means. */
  sampledTokens: number
  trainedTokens: number
  processorSeconds: number
  bytes: number
  /** Held-out accuracy of the first node at temperature 1. */
  sampled: number
  greedy: number
}

await runExperiment<Arm, { looks: HeadLook[] }>({
  question:
    'How much less work of its own does a node need to a held-out accuracy, if it exchanges heads with others?',
  defaults: {
    arms: '8 8x4',
    rates: '4e-4',
    seeds: '1,2,3,4,5',
    out: 'docs/results/heads.jsonl',
  },
  flags: {
    tokens: { type: 'string', default: '24000' },
    looks: { type: 'string', default: '12' },
    prompts: { type: 'string', default: '120' },
    samples: { type: 'string', default: '1' },
    targets: { type: 'string', default: '0.15,0.16,0.17' },
    setting: { type: 'string', default: 'dense' },
    model: { type: 'string' },
    rank: { type: 'string' },
  },
  settings: ({ tokens, looks, prompts, samples, setting, model, rank }) => ({
    ...{ tokens: Number(tokens), looks: Number(looks), prompts: Number(prompts) },
    ...(samples !== '1' && { samples: Number(samples) }),
    ...(setting !== 'dense' && model === undefined && { setting }),
    ...(typeof model === 'string' && { model: basename(model) }),
    ...((typeof model === 'string' || rank !== undefined) && { rank: Number(rank ?? 16) }),
  }),

  arm(name) {
    const [nodes, size, ...conditions] = name.split(' ')
    const [, prompts, minibatches] = size?.match(/^(\d+)x(\d+)$/) ?? []
    if (!Number(nodes) || minibatches === undefined)
      throw new Error(`no arm "${name}"; an arm is as in "8 8x4 late2"`)
    return {
      nodes: Number(nodes),
      ...{ prompts: Number(prompts), minibatches: Number(minibatches) },
      conditions: new Map(
        conditions.map((text) => [text.replace(/\d+$/, ''), Number(text.match(/\d+$/)?.[0] ?? 1)]),
      ),
    }
  },

  async play(arm, { rate, seed, values, meter, log }) {
    const { conditions } = arm
    const file = values.model as string | undefined
    const rank = values.rank === undefined ? undefined : Number(values.rank)
    const start = await startOf(String(values.setting), file, rank)
    const swarm = await createHeadSwarm(
      {
        ...{ nodes: arm.nodes, seed },
        ...(file !== undefined && { microBatchTokens: 1024 }),
        isInTurn: conditions.has('turn'),
        late: conditions.get('age') ?? conditions.get('late') ?? 0,
        isAlwaysLate: conditions.has('age'),
        lost: (conditions.get('lost') ?? 0) / 100,
        node: () => ({
          ...start,
          own: arm.prompts,
          minibatches: arm.minibatches,
          learningRate: rate,
        }),
      },
      { meter },
    )
    const { nodes } = swarm
    const looks: HeadLook[] = []
    const sampledTokens = () => mean(nodes.map(({ compute }) => compute.generated))
    const look = async (): Promise<void> => {
      const seen = await meter.part('look', () =>
        nodes[0]!.evaluate(Number(values.prompts), {
          tasks: start.tasks,
          samples: Number(values.samples),
        }),
      )
      looks.push({
        sampledTokens: sampledTokens(),
        trainedTokens: mean(nodes.map(({ compute }) => compute.trained)),
        processorSeconds: ((meter.seconds.rounds ?? 0) + (meter.seconds.exchange ?? 0)) / nodes.length,
        bytes: swarm.bytes,
        sampled: seen.sampled,
        greedy: seen.greedy,
      })
      log(JSON.stringify(looks.at(-1)))
    }
    await look()
    const [tokens, count] = [Number(values.tokens), Number(values.looks)]
    while (sampledTokens() < tokens) {
      await swarm.tick()
      if (sampledTokens() >= (looks.length * tokens) / count) await look()
    }
    return { looks }
  },

  table(runs, values) {
    const targets = String(values.targets).split(',').map(Number)
    const keys = [...new Set(runs.map(({ arm, rate }) => `${arm} at ${rate}`))].sort()
    return markdown(
      [
        ...['arm', 'seeds', 'best of three looks', 'last three looks'],
        ...targets.flatMap((target) => [`k sampled to ${target}`, 'processor s']),
      ],
      keys.map((key) => {
        const some = runs.filter(({ arm, rate }) => `${arm} at ${rate}` === key)
        const smooth = some.map(({ looks }) =>
          looks.slice(2).map((_, i) => mean(looks.slice(i, i + 3).map(({ sampled }) => sampled))),
        )
        const costs = (unit: (look: HeadLook) => number, target: number): string =>
          showReached(
            some.map(({ looks }) =>
              costTo(
                target,
                looks.map((look) => ({ cost: unit(look), accuracy: look.sampled })),
              ),
            ),
            1,
          )
        return [
          ...[key, some.map(({ seed }) => seed).join(' ')],
          ...[
            show(summary(smooth.map((all) => Math.max(...all)))),
            show(summary(smooth.map((all) => all.at(-1)!))),
          ],
          ...targets.flatMap((target) => [
            costs(({ sampledTokens }) => sampledTokens / 1000, target),
            costs(({ processorSeconds }) => processorSeconds, target),
          ]),
        ]
      }),
    )
  },
})
process.exit()
