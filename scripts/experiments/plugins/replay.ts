// What does replay add on recurring prompts?
// `npm run -s experiment:replay [-- --seeds 3 --tokens 150000 --arms none,r3 --out FILE]`
//
// A fixed set of prompts that the model of three tasks gets right occasionally: at most `most` times in 32. Each arm
// learns from them until it has generated the same number of tokens, including reflections. At every tenth of the way
// it is asked without plugins on the set, and at the end on held-out prompts of the same level. Finished runs are
// kept in a file; a call with the same file runs only the missing ones.

import { parseArgs } from 'node:util'
import { heldOutPrompts } from '../../../daemon/rollout/evaluation/held-out.ts'
import { TASKS } from '../../../daemon/wiring/built-in.ts'
import type { PromptCoordinates } from '../../../protocol/train/index.ts'
import { mean, percent } from '../../lab/frame/statistics.ts'
import { type ArmRun, learnFor, playArms } from '../in-process/arms.ts'
import { createLocalEngine } from '../in-process/engine.ts'
import { loadStart } from '../in-process/start.ts'
import { accuracy, rightAnswers } from './answers.ts'
import { createHookedNode } from './hooked-node.ts'
import type { ChosenPlugins } from './host.ts'
import { type ReplayRun, table } from './replay-table.ts'

const { values: flags } = parseArgs({
  options: {
    seeds: { type: 'string', default: '3' },
    tokens: { type: 'string', default: '150000' },
    arms: { type: 'string' },
    task: { type: 'string', default: 'fraction_simplification' },
    level: { type: 'string', default: '1' },
    prompts: { type: 'string', default: '48' },
    most: { type: 'string', default: '3' },
    'held-out': { type: 'string', default: '128' },
    'learning-rate': { type: 'string', default: '3e-4' },
    target: { type: 'string', default: '0.5' },
    threads: { type: 'string', default: '2' },
    out: { type: 'string', default: '.cache/experiments/replay.jsonl' },
  },
})
const PROMPTS = 8
const GROUP = 8
const MAX_NEW_TOKENS = 64
const LOOKS = 10
const ARMS: Record<string, ChosenPlugins> = {
  none: {},
  r3: { replay: [{ use: 'r3' }] },
  'r3 without reflection': { replay: [{ use: 'r3', tau: 0 }] },
  selective_like: { replay: [{ use: 'selective_like' }] },
  dots: { replay: [{ use: 'dots' }] },
}
const arms = flags.arms?.split(',') ?? Object.keys(ARMS)
const task = TASKS.find(({ name }) => name === flags.task)
if (!task) throw new Error(`there is no task "${flags.task}"`)
const at = (seed: number): PromptCoordinates => ({
  task: task.name,
  taskVersion: task.version,
  seed,
  difficulty: Number(flags.level),
})
const settings = [
  flags.task,
  flags.level,
  flags.prompts,
  flags.most,
  flags.tokens,
  flags['learning-rate'],
].join('/')

const engine = createLocalEngine({ threads: Number(flags.threads) })
const { model } = await loadStart('three-tasks')
const ask = { engine, model, task, maxNewTokens: MAX_NEW_TOKENS }
await engine.open({ spec: model.spec, weights: model.weights })
const set = await recurring(Number(flags.prompts))
const heldOut = await heldOutPrompts(task, Number(flags.level), Number(flags['held-out']))
const before = { set: await accuracy(set, ask), heldOut: await accuracy(heldOut, ask) }
console.log(`${set.length} prompts, ${percent(before.set)} right; held-out ${percent(before.heldOut)}`)

const runs = await playArms<ChosenPlugins, ReplayRun>(
  { arms: ARMS, names: arms, seeds: Number(flags.seeds), settings, out: flags.out },
  {
    play,
    tell: ({ seed, arm, curve, heldOut: end, rounds, seconds }) =>
      console.log(
        `seed ${seed} ${arm}: set ${percent(curve.at(-1)!.set)}, held-out ${percent(end)}, ${rounds} rounds, ${seconds.toFixed(0)} s`,
      ),
  },
)
console.log(table(runs, { arms, before, target: Number(flags.target) }))
await engine.close()

async function play(plugins: ChosenPlugins, seed: number): Promise<Omit<ReplayRun, keyof ArmRun>> {
  const node = await createHookedNode({
    seed,
    model,
    tasks: TASKS,
    learnsFrom: set,
    prompts: PROMPTS,
    groupSize: GROUP,
    maxNewTokens: MAX_NEW_TOKENS,
    learningRate: Number(flags['learning-rate']),
    plugins,
    engines: { policy: engine, roles: {} },
  })
  const fresh: number[] = []
  const replayed: number[] = []
  const curve = await learnFor(
    node,
    Number(flags.tokens),
    ({ groups, metrics }) => {
      // By the verifier alone: right and wrong answers of one policy to one prompt.
      const mixed = groups.filter(({ rollouts }) => {
        const right = rollouts.filter((one) => (one.taskReward ?? one.reward) === 1).length
        return right > 0 && right < rollouts.length
      })
      fresh.push(mixed.length / groups.length)
      const [, count = 0] = Object.entries(metrics).find(([name]) => name.endsWith('.replayed')) ?? []
      replayed.push(count)
    },
    { count: LOOKS, first: before.set, look: () => accuracy(set, ask) },
  )
  return {
    rounds: fresh.length,
    updates: node.updates,
    fresh: mean(fresh),
    replayed: mean(replayed),
    curve,
    heldOut: await accuracy(heldOut, ask),
  }
}

async function recurring(count: number): Promise<PromptCoordinates[]> {
  const found: PromptCoordinates[] = []
  for (let from = 0; found.length < count && from < 4096; from += 64) {
    const some = Array.from({ length: 64 }, (_, i) => at(from + i))
    const right = await rightAnswers(some, { ...ask, samples: 32, temperature: 1 })
    found.push(...some.filter((_, i) => right[i]! > 0 && right[i]! <= Number(flags.most)))
  }
  if (found.length < count)
    throw new Error(`only ${found.length} prompts are right 1 to ${flags.most} times in 32`)
  return found.slice(0, count)
}
