// What does a node alone need to get to a held-out accuracy? The control of every experiment with peers.
// `npm run -s lab:alone [-- --arms 2x1,8x4 --rates 2x1=1e-4,8x4=1.4e-4 --seeds 1,2,3 --targets 0.15,0.16]`
//
// An arm `PxM` answers P prompts a round, 8 answers each, and makes M optimizer steps with them. The model of three
// tasks at a node's default tasks, all parameters trained. Looks are spaced evenly by sampled tokens: 360 held-out
// questions at temperature 1. Looks are not part of the cost.

import type { Engine } from '../../../daemon/engine/engine.ts'
import { runExperiment } from '../frame/experiment.ts'
import { costTo, showReached } from '../frame/reach.ts'
import { markdown, mean, show, summary } from '../frame/statistics.ts'
import { createLocalEngine } from '../nodes/engine.ts'
import { createNode } from '../nodes/node.ts'
import { loadStart } from '../nodes/start.ts'

interface Arm {
  prompts: number
  minibatches: number
}

interface TrainingLook {
  /** Sampled so far. */
  sampledTokens: number
  trainedTokens: number
  processorSeconds: number
  steps: number
  /** Held-out accuracy at temperature 1. */
  sampled: number
  greedy: number
}

const { model } = await loadStart('three-tasks')
const tasks = [
  { name: 'basic_arithmetic', difficulty: 1 },
  { name: 'base_conversion', difficulty: 0 },
  { name: 'fraction_simplification', difficulty: 1 },
]
let engine: Engine | undefined

await runExperiment<Arm, { looks: TrainingLook[] }>({
  question:
    'Which batch, which number of steps a batch and which learning rate bring a node alone to a target with the least work? The cheapest arm for a target is the control for that target.',
  defaults: {
    arms: '2x1,4x1,8x1,8x4,16x8',
    rates: '7e-5,1e-4,1.4e-4',
    seeds: '101,102',
    out: 'docs/results/alone.jsonl',
  },
  flags: {
    tokens: { type: 'string', default: '80000' },
    looks: { type: 'string', default: '20' },
    prompts: { type: 'string', default: '120' },
    targets: { type: 'string', default: '0.15,0.16,0.17' },
  },
  settings: ({ tokens, looks, prompts }) => ({
    tokens: Number(tokens),
    looks: Number(looks),
    prompts: Number(prompts),
  }),

  arm(name) {
    const [, prompts, minibatches] = name.match(/^(\d+)x(\d+)$/) ?? []
    if (prompts === undefined || minibatches === undefined)
      throw new Error(`no arm "${name}"; an arm is prompts a round x optimizer steps a round, as in 8x4`)
    return { prompts: Number(prompts), minibatches: Number(minibatches) }
  },

  async play({ prompts, minibatches }, { rate, seed, values, meter }) {
    engine ??= createLocalEngine({ threads: 1 })
    const node = await createNode({
      ...{ name: 'alone', seed: 1000 * seed, model, tasks, engine },
      ...{ own: prompts, minibatches, foreign: 0, adaptive: false, learningRate: rate },
    })
    const looks: TrainingLook[] = []
    let steps = 0
    const look = async (): Promise<void> => {
      const seen = await meter.part('look', () => node.evaluate(Number(values.prompts)))
      looks.push({
        sampledTokens: node.compute.generated,
        trainedTokens: node.compute.trained,
        processorSeconds: meter.seconds.rounds ?? 0,
        steps,
        sampled: seen.sampled,
        greedy: seen.greedy,
      })
    }
    await look()
    const [tokens, count] = [Number(values.tokens), Number(values.looks)]
    while (node.compute.generated < tokens) {
      const { step } = await meter.part('rounds', () => node.round())
      steps += step?.steps ?? 0
      if (node.compute.generated >= (looks.length * tokens) / count) await look()
    }
    return { looks }
  },

  table(runs, values) {
    const targets = String(values.targets).split(',').map(Number)
    const keys = [...new Set(runs.map(({ arm, rate }) => `${arm} ${rate}`))].sort()
    return markdown(
      [
        'arm',
        'rate',
        'seeds',
        'best of three looks',
        ...targets.flatMap((t) => [`k sampled to ${t}`, `processor s`]),
      ],
      keys.map((key) => {
        const some = runs.filter(({ arm, rate }) => `${arm} ${rate}` === key)
        const best = some.map(({ looks }) =>
          Math.max(
            ...looks.slice(2).map((_, i) => mean(looks.slice(i, i + 3).map(({ sampled }) => sampled))),
          ),
        )
        return [
          ...[
            some[0]!.arm,
            String(some[0]!.rate),
            some.map(({ seed }) => seed).join(' '),
            show(summary(best)),
          ],
          ...targets.flatMap((target) =>
            (['sampledTokens', 'processorSeconds'] as const).map((unit) =>
              showReached(
                some.map(({ looks }) =>
                  costTo(
                    target,
                    looks.map((look) => ({
                      cost: unit === 'sampledTokens' ? look[unit] / 1000 : look[unit],
                      accuracy: look.sampled,
                    })),
                  ),
                ),
              ),
            ),
          ),
        ]
      }),
    )
  },
})
await engine?.close()
