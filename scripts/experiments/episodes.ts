// Do estimators that work by turn learn more from episodes than those that treat an episode as a whole? `npm run -s
// experiment:episodes [-- --task keys_and_doors --tokens 300000 --seeds 3 --arms 'grpo;gigpo;...' --out FILE]`
//
// The default model has seen the task played, mostly at random. It learns the task until it has generated a given
// number of tokens, including those that the environment shows. Everything else is the same: prompts, sampling seeds,
// optimizer, the default loss, groups of 8. The results are the final mean reward on new training prompts, and
// held-out accuracy (greedy and sampled). Finished runs are kept and not run again.

import { parseArgs } from 'node:util'
import { TASKS } from '../../plugins/tasks/index.ts'
import { openRecords } from '../lab/frame/records.ts'
import { markdown, mean, questionsOf, show, summary } from '../lab/frame/statistics.ts'
import { createLocalEngine } from './in-process/engine.ts'
import { createLearnerAlone } from './in-process/learner-alone.ts'
import { loadStart } from './in-process/start.ts'
import { type Learnt, learnFromTokens } from './in-process/token-budget.ts'
import { thisMachine } from './machine.ts'

const { values: flags } = parseArgs({
  options: {
    task: { type: 'string', default: 'keys_and_doors' },
    difficulty: { type: 'string', default: '0' },
    tokens: { type: 'string', default: '300000' },
    seeds: { type: 'string', default: '3' },
    /** Separated by semicolons. */
    arms: { type: 'string', default: 'grpo;trloo;gigpo' },
    prompts: { type: 'string', default: '4' },
    'learning-rate': { type: 'string', default: '2e-4' },
    'test-prompts': { type: 'string', default: '150' },
    threads: { type: 'string', default: '1' },
    out: { type: 'string', default: '.cache/experiments/episodes.jsonl' },
  },
})
const [tokens, difficulty, tests] = [
  Number(flags.tokens),
  Number(flags.difficulty),
  Number(flags['test-prompts']),
]
const learningRate = Number(flags['learning-rate'])
const MAX_NEW_TOKENS = 160

interface Run extends Learnt {
  arm: string
  seed: number
  settings: string
}

const task = TASKS.find(({ name, environment }) => environment && name === flags.task)
if (!task) throw new Error(`${flags.task} is no task with turns`)
const settings = JSON.stringify([task.name, task.version, difficulty, tokens, learningRate, flags.prompts])
const records = await openRecords<Run>(flags.out)
const threads = Number(flags.threads)
const engines = { writes: createLocalEngine({ threads }), learns: createLocalEngine({ threads }) }
const { model } = await loadStart('default')

const isOf = (run: Run): boolean => run.settings === settings
const learn = async (arm: string, seed: number, until: number): Promise<void> => {
  if (records.done.some((run) => isOf(run) && run.arm === arm && run.seed === seed)) return
  const node = await createLearnerAlone({
    seed,
    model,
    tasks: [{ name: task.name, difficulty }],
    prompts: Number(flags.prompts),
    groupSize: 8,
    learningRate,
    maxNewTokens: MAX_NEW_TOKENS,
    estimator: { use: arm === 'start' ? 'grpo' : arm },
    corrections: [{ use: 'clip' }],
    engines,
  })
  const learnt = await learnFromTokens(node, until, tests)
  await records.add({ arm, seed, settings, ...learnt })
  process.stderr.write(
    `${arm}, seed ${seed}: reward ${learnt.reward.toFixed(3)}, ${learnt.cpuSeconds.toFixed(0)} s\n`,
  )
}

const arms = flags.arms.split(';')
// By seed first, so that what is there after a while compares all arms. `start` learns nothing.
for (let seed = 1; seed <= Number(flags.seeds); seed++) {
  await learn('start', seed, 0)
  for (const arm of arms) await learn(arm, seed, tokens)
}
await Promise.all([engines.writes.close(), engines.learns.close()])

const all = records.done.filter(isOf)
console.log(
  `${thisMachine()}; ${task.name} level ${difficulty}, ${tokens} tokens, learning rate ${learningRate}, ${questionsOf(all)}`,
)
console.log(
  markdown(
    ['estimator', 'reward', 'held-out sampled', 'held-out greedy', 'groups with a signal', 'runs'],
    [...new Set(['start', ...arms, ...all.map(({ arm }) => arm)])].map((arm) => {
      const runs = all.filter((run) => run.arm === arm)
      if (runs.length === 0) return [arm, '', '', '', '', '0']
      return [
        arm,
        show(summary(runs.map(({ reward }) => reward))),
        show(summary(runs.map(({ sampled }) => sampled))),
        show(summary(runs.map(({ greedy }) => greedy))),
        arm === 'start' ? '' : `${(100 * mean(runs.map(({ signal }) => signal))).toFixed(0)} %`,
        String(runs.length),
      ]
    }),
  ),
)
