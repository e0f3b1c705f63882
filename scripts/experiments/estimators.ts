// Which estimator learns most from the same number of generated tokens, in groups of 2, 4 and 8?
// `npm run -s experiment:estimators [-- --tokens 60000 --seeds 3 --sizes 2,4,8 --arms 'grpo;rloo;...' --lag 2 --out FILE]`
//
// One policy (the model of three tasks) learns one task (basic_arithmetic at level 1, which has thousands of
// questions) until it has generated a given number of tokens, including greedy baselines. An update has 32 rollouts
// for every group size: 16, 8 or 4 prompts. The results are the final mean reward on new training questions, and
// held-out accuracy. Everything else is the same: prompts, sampling seeds, optimizer, the default loss. Methods that
// include a loss use theirs. Left out: spo, which is for recurring prompts (see plugins/selection.ts), and the
// multi-turn ones, which equal others on tasks with one turn (trloo is rloo, hgpo and salt_like are grpo, gigpo is
// twice dr_grpo). Finished runs are kept.

import { parseArgs } from 'node:util'
import type { AggregationMode } from '../../daemon/trainer/aggregation.ts'
import { openRecords } from '../lab/frame/records.ts'
import { markdown, mean, questionsOf, show, summary } from '../lab/frame/statistics.ts'
import { createLocalEngine } from './in-process/engine.ts'
import { createLearnerAlone, type PluginChoice } from './in-process/learner-alone.ts'
import { loadStart } from './in-process/start.ts'
import { type Learnt, learnFromTokens } from './in-process/token-budget.ts'
import { thisMachine } from './machine.ts'

const { values: flags } = parseArgs({
  options: {
    tokens: { type: 'string', default: '60000' },
    seeds: { type: 'string', default: '3' },
    sizes: { type: 'string', default: '2,4,8' },
    /** Separated by semicolons. */
    arms: { type: 'string' },
    rollouts: { type: 'string', default: '32' },
    task: { type: 'string', default: 'basic_arithmetic' },
    level: { type: 'string', default: '1' },
    'learning-rate': { type: 'string', default: '1e-4' },
    lag: { type: 'string', default: '0' },
    minibatches: { type: 'string', default: '1' },
    'test-prompts': { type: 'string', default: '150' },
    threads: { type: 'string', default: '1' },
    out: { type: 'string', default: '.cache/experiments/estimators.jsonl' },
  },
})
const tokens = Number(flags.tokens)
const learningRate = Number(flags['learning-rate'])
const task = { name: flags.task, difficulty: Number(flags.level) }
const tests = Number(flags['test-prompts'])
const rollouts = Number(flags.rollouts)
/** How far from on-policy: versions between writing and learning, and steps of an update. */
const lag = Number(flags.lag)
const minibatches = Number(flags.minibatches)
const sizes = flags.sizes.split(',').map(Number)
const seeds = Array.from({ length: Number(flags.seeds) }, (_, i) => i + 1)

const CLIP: PluginChoice[] = [{ use: 'clip' }]
const GRPO: PluginChoice = { use: 'grpo' }
interface Arm {
  estimator: PluginChoice
  corrections?: PluginChoice[]
  /** Rollouts of a group beyond its size. */
  extra?: number
  aggregation?: AggregationMode
}
const ARMS: Record<string, Arm> = {
  grpo: { estimator: GRPO },
  dr_grpo: { estimator: { use: 'dr_grpo' } },
  rloo: { estimator: { use: 'rloo' } },
  reinforce_plus_plus: { estimator: { use: 'reinforce_plus_plus' } },
  reinforce_plus_plus_baseline: { estimator: { use: 'reinforce_plus_plus_baseline' } },
  opo: { estimator: { use: 'opo' } },
  lite_ppo: { estimator: { use: 'lite_ppo' } },
  ngrpo: { estimator: { use: 'ngrpo' }, corrections: [{ use: 'clip', low: 0.16, high: 0.24 }] },
  // G + 1 rollouts, one of which teaches nothing.
  mc_grpo: { estimator: { use: 'mc_grpo' }, extra: 1 },
  a_grae: { estimator: { use: 'a_grae' } },
  asymre: { estimator: { use: 'asymre' }, corrections: [{ use: 'reinforce' }] },
  opmd: { estimator: { use: 'opmd' }, corrections: [{ use: 'reinforce' }] },
  copo: { estimator: { use: 'copo' } },
  mapo: { estimator: { use: 'mapo' } },
  remax: { estimator: { use: 'remax' } },
  otb: { estimator: { use: 'otb' } },
  gpg: { estimator: { use: 'gpg' }, corrections: [{ use: 'reinforce' }] },
  gae: { estimator: { use: 'gae' } },
  v_trace: { estimator: { use: 'v_trace' }, corrections: [{ use: 'reinforce' }] },
  pass_at_k: { estimator: { use: 'pass_at_k' } },
  canon: { estimator: { use: 'canon' } },
  gtpo: { estimator: { use: 'gtpo' } },
  red_weight: { estimator: { use: 'red_weight' }, corrections: [{ use: 'reinforce' }] },
  seed_grpo_like: { estimator: { use: 'seed_grpo_like' } },
  g2rpo_like: { estimator: { use: 'g2rpo_like' } },
  // GRPO with another loss or a further correction.
  success_nll: { estimator: GRPO, corrections: [...CLIP, { use: 'success_nll' }] },
  r2vpo_like: { estimator: GRPO, corrections: [{ use: 'r2vpo_like' }] },
  ace_like: { estimator: GRPO, corrections: [...CLIP, { use: 'ace_like' }] },
  llds: { estimator: GRPO, corrections: [...CLIP, { use: 'llds' }] },
  st_ppo_like: { estimator: GRPO, corrections: [{ use: 'st_ppo_like' }] },
  dagrpo_like: { estimator: GRPO, corrections: [...CLIP, { use: 'dagrpo_like' }] },
  // Relaxed over as many updates as the default number of tokens makes.
  d3s_like: { estimator: GRPO, corrections: [...CLIP, { use: 'd3s_like', steps: 90 }] },
  srpo_like: { estimator: GRPO, corrections: [...CLIP, { use: 'srpo_like' }] },
  disco: {
    estimator: { use: 'disco' },
    corrections: [{ use: 'reinforce' }, { use: 'kl_limit' }],
    aggregation: 'sequence_mean',
  },
}
/** What can be told apart in the time that a default run may take; the others by `--arms`. */
const FIRST = [
  'grpo',
  'rloo',
  'reinforce_plus_plus',
  'opo',
  'lite_ppo',
  'ngrpo',
  'mc_grpo',
  'asymre',
  'copo',
  'remax',
  'otb',
]
const arms = flags.arms?.split(';') ?? FIRST

interface Run extends Learnt {
  arm: string
  size: number
  task: string
  level: number
  seed: number
  tokens: number
  learningRate: number
  /** Not in records of before there was a choice: 0 and 1. */
  lag?: number
  minibatches?: number
}

const { model } = await loadStart('three-tasks')
const records = await openRecords<Run>(flags.out)
const threads = Number(flags.threads)
const engines = { writes: createLocalEngine({ threads }), learns: createLocalEngine({ threads }) }
const isOf = (run: Run): boolean =>
  run.task === task.name &&
  run.level === task.difficulty &&
  run.tokens === tokens &&
  run.learningRate === learningRate &&
  (run.lag ?? 0) === lag &&
  (run.minibatches ?? 1) === minibatches

// By seed first, so that what is there after a while compares all arms.
for (const seed of seeds) {
  for (const size of sizes) {
    for (const arm of arms) {
      if (records.done.some((run) => isOf(run) && run.arm === arm && run.size === size && run.seed === seed))
        continue
      const { estimator, corrections = CLIP, extra = 0, aggregation } = ARMS[arm]!
      const node = await createLearnerAlone({
        seed,
        model,
        tasks: [task],
        prompts: Math.max(1, Math.round(rollouts / (size + extra))),
        groupSize: size + extra,
        learningRate,
        lag,
        minibatches,
        maxNewTokens: 64,
        estimator,
        corrections,
        ...(aggregation && { aggregation }),
        engines,
      })
      const learnt = await learnFromTokens(node, tokens, tests)
      await records.add({
        arm,
        size,
        task: task.name,
        level: task.difficulty,
        seed,
        tokens,
        learningRate,
        lag,
        minibatches,
        ...learnt,
      })
      process.stderr.write(
        `${arm}, groups of ${size}, seed ${seed}: reward ${learnt.reward.toFixed(3)}, ${learnt.cpuSeconds.toFixed(0)} s\n`,
      )
    }
  }
}
await Promise.all([engines.writes.close(), engines.learns.close()])

const all = records.done.filter(isOf)
const names = [...new Set([...arms, ...all.map(({ arm }) => arm)])]
console.log(
  `${thisMachine()}; ${task.name} level ${task.difficulty}, ${tokens} tokens, ${rollouts} rollouts an update, learning rate ${learningRate}, lag ${lag}, ${minibatches} steps an update, ${questionsOf(all)}`,
)
console.log(
  markdown(
    [
      'estimator',
      ...sizes.flatMap((size) => [`G ${size}: reward`, 'held-out sampled', 'groups with a signal']),
      'runs',
    ],
    names.map((arm) => {
      const runs = all.filter((run) => run.arm === arm)
      return [
        arm,
        ...sizes.flatMap((size) => {
          const of = runs.filter((run) => run.size === size)
          if (of.length === 0) return ['', '', '']
          return [
            show(summary(of.map(({ reward }) => reward))),
            show(summary(of.map(({ sampled }) => sampled))),
            `${(100 * mean(of.map(({ signal }) => signal))).toFixed(0)} %`,
          ]
        }),
        String(runs.length),
      ]
    }),
  ),
)
