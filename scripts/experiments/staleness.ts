// What do old rollouts cost, and which correction makes up for it?
// `npm run -s experiment:staleness [-- --updates 60 --seeds 3 --lags 2,8,32 --arms 'none;tis' --out FILE]`
//
// One policy (the model of three tasks) learns one task (basic_arithmetic at level 1, which has thousands of questions), one
// optimizer step an update, from rollouts that the policy of `lag` updates before wrote: no loss has a minibatch of its own
// to be off-policy in, so all there is to correct is age. Everything else is the same in every arm: prompts, sampling
// seeds, optimizer, and GRPO but where the correction is in the estimator (v_trace). At lag 0 all ratios are 1 and the
// arms are one; it is run once a seed, as `fresh`. What counts is the mean reward of the policy after the last update, on
// training questions that it was never asked, and its accuracy on held-out ones. The learning rate is such that
// 32 versions matter. Nothing guards: a policy that falls apart stays so. Runs are kept as they end.

import { parseArgs } from 'node:util'
import { openRecords } from '../lab/frame/records.ts'
import { markdown, mean, questionsOf, show, summary } from '../lab/frame/statistics.ts'
import { createLocalEngine } from './in-process/engine.ts'
import { createLearnerAlone, type PluginChoice } from './in-process/learner-alone.ts'
import { loadStart } from './in-process/start.ts'
import { thisMachine } from './machine.ts'

const { values: flags } = parseArgs({
  options: {
    updates: { type: 'string', default: '60' },
    seeds: { type: 'string', default: '3' },
    lags: { type: 'string', default: '2,8,32' },
    /** Separated by semicolons. */
    arms: { type: 'string' },
    prompts: { type: 'string', default: '4' },
    task: { type: 'string', default: 'basic_arithmetic' },
    level: { type: 'string', default: '1' },
    'learning-rate': { type: 'string', default: '1e-4' },
    'test-prompts': { type: 'string', default: '150' },
    threads: { type: 'string', default: '1' },
    out: { type: 'string', default: '.cache/experiments/staleness.jsonl' },
  },
})
const updates = Number(flags.updates)
const learningRate = Number(flags['learning-rate'])
const task = { name: flags.task, difficulty: Number(flags.level) }
const tests = Number(flags['test-prompts'])
const seeds = Array.from({ length: Number(flags.seeds) }, (_, i) => i + 1)

/** `clip` at the proximal policy has a ratio of 1 in the only step of a batch: a policy gradient without a correction. */
const ARMS: Record<string, PluginChoice[]> = {
  none: [{ use: 'clip' }],
  bypass: [{ use: 'clip', anchor: 'behaviour' }],
  tis: [{ use: 'clip' }, { use: 'tis' }],
  'tis, rows': [{ use: 'clip' }, { use: 'tis', level: 'sequence' }],
  mis: [
    { use: 'clip' },
    { use: 'rejection', tests: [{ low: 0.5, high: 5 }] },
    { use: 'tis', cap: 5, veto: 'off' },
  ],
  'tis + geometric mask': [
    { use: 'clip' },
    { use: 'tis' },
    { use: 'rejection', tests: [{ of: 'mean', low: 0.9, high: 1.1 }] },
  ],
  'm2po + tis': [{ use: 'clip' }, { use: 'tis' }, { use: 'm2po' }],
  'tis + opsm': [{ use: 'clip' }, { use: 'tis' }, { use: 'opsm' }],
  cispo: [{ use: 'cispo', anchor: 'behaviour' }],
  gspo: [{ use: 'gspo', anchor: 'behaviour' }],
  topr: [{ use: 'topr', anchor: 'behaviour' }],
  'rec, no weights': [{ use: 'rec', weights: false, anchor: 'behaviour' }],
  soft_adaptive: [{ use: 'soft_adaptive', anchor: 'behaviour' }],
  gmpo: [{ use: 'gmpo', anchor: 'behaviour' }],
  vespo: [{ use: 'vespo', anchor: 'behaviour' }],
  sppo: [{ use: 'sppo', anchor: 'behaviour' }],
  // Its ratio is to the behaviour policy by itself.
  dppo: [{ use: 'dppo' }],
  v_trace: [{ use: 'reinforce' }],
  'v_trace, group mean': [{ use: 'reinforce' }],
}
/** Where the correction is the estimator's; GRPO else. */
const ESTIMATORS: Record<string, PluginChoice> = {
  v_trace: { use: 'v_trace' },
  'v_trace, group mean': { use: 'v_trace', critic: 'group_mean' },
}
const arms = flags.arms?.split(';') ?? Object.keys(ARMS)
const cells = [
  { arm: 'fresh', lag: 0 },
  ...arms.flatMap((arm) => flags.lags.split(',').map((lag) => ({ arm, lag: Number(lag) }))),
]

interface Run {
  arm: string
  lag: number
  task: string
  level: number
  seed: number
  updates: number
  learningRate: number
  prompts: number
  /** Of the final policy. */
  reward: number
  questions?: number
  sampled: number
  greedy: number
  /** Of what was learnt from, one per update. */
  rewards: number[]
  /** Updates in which nothing could be learnt from. */
  empty: number
  gradientNorm: number
  generatedTokens: number
  cpuSeconds: number
}

const { model } = await loadStart('three-tasks')
const records = await openRecords<Run>(flags.out)
const threads = Number(flags.threads)
const engines = { writes: createLocalEngine({ threads }), learns: createLocalEngine({ threads }) }
const isOf = (run: Run): boolean =>
  run.task === task.name &&
  run.level === task.difficulty &&
  run.updates === updates &&
  run.learningRate === learningRate &&
  run.prompts === Number(flags.prompts)

// By seed first, so that what is there after a while compares all arms.
for (const seed of seeds) {
  for (const { arm, lag } of cells) {
    if (records.done.some((run) => isOf(run) && run.arm === arm && run.lag === lag && run.seed === seed))
      continue
    const before = process.cpuUsage()
    const node = await createLearnerAlone({
      seed,
      model,
      tasks: [task],
      prompts: Number(flags.prompts),
      groupSize: 8,
      learningRate,
      maxNewTokens: 64,
      lag,
      ...(ESTIMATORS[arm] && { estimator: ESTIMATORS[arm] }),
      corrections: arm === 'fresh' ? ARMS.none! : ARMS[arm]!,
      engines,
    })
    const [rewards, norms]: [number[], number[]] = [[], []]
    let [generatedTokens, empty] = [0, 0]
    for (let i = 0; i < updates; i++) {
      const round = await node.round()
      rewards.push(round.reward)
      generatedTokens += round.generatedTokens
      if (round.report) norms.push(round.report.gradientNorm)
      else empty += 1
    }
    const reward = await node.reward(tests)
    const held = await node.evaluate(tests, 4)
    const { user, system } = process.cpuUsage(before)
    await records.add({
      arm,
      lag,
      task: task.name,
      level: task.difficulty,
      seed,
      updates,
      learningRate,
      prompts: Number(flags.prompts),
      reward,
      ...held,
      rewards,
      empty,
      gradientNorm: mean(norms),
      generatedTokens,
      cpuSeconds: (user + system) / 1e6,
    })
    process.stderr.write(
      `${arm}, ${lag} versions, seed ${seed}: reward ${reward.toFixed(3)}, ${((user + system) / 1e6).toFixed(0)} s\n`,
    )
  }
}
await Promise.all([engines.writes.close(), engines.learns.close()])

const all = records.done.filter(isOf)
const runsOf = (arm: string, lag: number): Run[] => all.filter((run) => run.arm === arm && run.lag === lag)
const fresh = mean(runsOf('fresh', 0).map(({ reward }) => reward))
console.log(
  `${thisMachine()}; ${task.name} level ${task.difficulty}, ${updates} updates of ${flags.prompts} prompts x 8, learning rate ${learningRate}, ${questionsOf(all)}`,
)
console.log(
  markdown(
    [
      'correction',
      'versions old',
      'reward',
      'of fresh',
      'held-out sampled',
      'greedy',
      'gradient norm',
      'runs',
    ],
    cells.flatMap(({ arm, lag }) => {
      const runs = runsOf(arm, lag)
      if (runs.length === 0) return []
      const of = (read: (run: Run) => number): string => show(summary(runs.map(read)))
      return [
        [
          arm,
          String(lag),
          of(({ reward }) => reward),
          `${((100 * mean(runs.map(({ reward }) => reward))) / fresh).toFixed(0)} %`,
          of(({ sampled }) => sampled),
          of(({ greedy }) => greedy),
          mean(runs.map(({ gradientNorm }) => gradientNorm)).toFixed(2),
          String(runs.length),
        ],
      ]
    }),
  ),
)
