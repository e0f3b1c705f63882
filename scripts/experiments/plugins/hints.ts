// Do hints teach what plain groups cannot?
// `npm run -s experiment:hints [-- --seeds 3 --tokens 80000 --arms grpo,sage --out FILE]`
//
// The model can do part of the task, but without a hint it states its answers in words that no verifier accepts: see
// warm-start.ts. The prompts are those that it never got right in 32 tries, so plain groups are all wrong. Each arm
// learns from them until it has generated the same number of tokens, including hints and hint writers. It is then
// asked without hints: on these prompts, and on held-out prompts of the same level. Finished runs are kept in a file;
// a call with the same file runs only the missing ones.

import { existsSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { loadModel } from '../../../daemon/policy/model.ts'
import { heldOutPrompts } from '../../../daemon/rollout/evaluation/held-out.ts'
import { nodeDisk as disk } from '../../../daemon/store/node-disk.ts'
import { TASKS } from '../../../daemon/wiring/built-in.ts'
import type { PromptCoordinates } from '../../../protocol/train/index.ts'
import { openRecords } from '../../lab/frame/records.ts'
import { mean, percent } from '../../lab/frame/statistics.ts'
import { createLocalEngine } from '../in-process/engine.ts'
import { folderOf } from '../in-process/start.ts'
import { rightAnswers } from './answers.ts'
import { type Run, tableOf } from './hints-table.ts'
import { createHookedNode } from './hooked-node.ts'
import type { ChosenPlugins } from './host.ts'
import { keepModel, warmStart } from './warm-start.ts'

const { values: flags } = parseArgs({
  options: {
    seeds: { type: 'string', default: '3' },
    tokens: { type: 'string', default: '80000' },
    arms: { type: 'string' },
    'hard-prompts': { type: 'string', default: '32' },
    'held-out': { type: 'string', default: '64' },
    'learning-rate': { type: 'string', default: '5e-4' },
    'warm-steps': { type: 'string', default: '160' },
    threads: { type: 'string', default: '2' },
    out: { type: 'string', default: '.cache/experiments/hints.jsonl' },
  },
})
const LEVEL = 0
const PROMPTS = 8
const GROUP = 8
const MAX_NEW_TOKENS = 96
const tokens = Number(flags.tokens)
const learningRate = Number(flags['learning-rate'])
const steps = Number(flags['warm-steps'])

/** Hints by the worked solution where the paper lets the policy write them: this one is too small to. */
const ARMS: Record<string, ChosenPlugins> = {
  grpo: {},
  sage: { hints: [{ use: 'sage', writer: 'solution' }] },
  sage_light: { hints: [{ use: 'sage_light', writer: 'solution' }] },
  'sage_light by its code': { hints: [{ use: 'sage_light', writer: 'solution', rule: 'code' }] },
  scaf_grpo: { hints: [{ use: 'scaf_grpo', exemption: 0 }] },
  hill: { hints: [{ use: 'hill', form: 'short' }] },
  'sage + hatch': { hints: [{ use: 'sage', writer: 'solution' }, { use: 'hatch' }] },
  r3: { replay: [{ use: 'r3' }] },
}
const arms = flags.arms?.split(',') ?? Object.keys(ARMS)

const task = TASKS.find(({ name }) => name === 'base_conversion')!
const at = (seed: number): PromptCoordinates => ({
  task: task.name,
  taskVersion: task.version,
  seed,
  difficulty: LEVEL,
})
const engines = {
  policy: createLocalEngine({ threads: Number(flags.threads) }),
  hinter: createLocalEngine({ threads: Number(flags.threads) }),
}
const model = await warmModel()
const ask = { engine: engines.policy, model, task, maxNewTokens: MAX_NEW_TOKENS }

await engines.policy.open({ spec: model.spec, weights: model.weights })
const hard = await hardPrompts(Number(flags['hard-prompts']))
const heldOut = await heldOutPrompts(task, LEVEL, Number(flags['held-out']))
const before = { set: await accuracy(hard), heldOut: await accuracy(heldOut) }
console.log(
  `${hard.length} prompts; plain: ${percent(before.set[0])} sampled, ${percent(before.set[1])} greedy`,
)

const records = await openRecords<Run>(flags.out)
const isSame = (run: Run): boolean =>
  run.tokens === tokens && run.learningRate === learningRate && run.steps === steps
for (let seed = 1; seed <= Number(flags.seeds); seed++) {
  for (const arm of arms) {
    if (records.done.some((run) => isSame(run) && run.arm === arm && run.seed === seed)) continue
    const run = await play(arm, seed)
    await records.add(run)
    console.log(
      `seed ${seed} ${arm}: set ${percent(run.set.after[0])} sampled, ${run.updates} updates, ${run.seconds.toFixed(0)} s`,
    )
  }
}
console.log(tableOf(records.done.filter(isSame), arms, before))
await Promise.all(Object.values(engines).map((engine) => engine.close()))

async function play(arm: string, seed: number): Promise<Run> {
  const started = performance.now()
  const plugins = ARMS[arm]
  if (!plugins) throw new Error(`there is no arm "${arm}"; there are ${Object.keys(ARMS).join(', ')}`)
  const node = await createHookedNode({
    seed,
    model,
    tasks: TASKS,
    learnsFrom: hard,
    prompts: PROMPTS,
    groupSize: GROUP,
    maxNewTokens: MAX_NEW_TOKENS,
    learningRate,
    plugins,
    engines: { policy: engines.policy, roles: arm === 'hill' ? { hinter: engines.hinter } : {} },
  })
  const trained: number[] = []
  while (node.tokens < tokens) trained.push((await node.round()).trained / PROMPTS)
  return {
    arm,
    seed,
    tokens,
    learningRate,
    steps,
    rounds: trained.length,
    updates: node.updates,
    signal: mean(trained),
    set: { before: before.set, after: await accuracy(hard) },
    heldOut: { before: before.heldOut, after: await accuracy(heldOut) },
    seconds: (performance.now() - started) / 1000,
  }
}

/** Without hints: four answers a prompt at temperature 1, and the most likely one. */
async function accuracy(prompts: readonly PromptCoordinates[]): Promise<[number, number]> {
  const sampled = await rightAnswers(prompts, { ...ask, samples: 4, temperature: 1 })
  const greedy = await rightAnswers(prompts, { ...ask, samples: 1, temperature: 0 })
  return [mean(sampled) / 4, mean(greedy)]
}

async function hardPrompts(count: number): Promise<PromptCoordinates[]> {
  const found: PromptCoordinates[] = []
  for (let from = 0; found.length < count && from < 1_000_000; from += 16) {
    const some = Array.from({ length: 16 }, (_, i) => at(from + i))
    const right = await rightAnswers(some, { ...ask, samples: 32, temperature: 1 })
    found.push(...some.filter((_, i) => right[i] === 0))
  }
  return found.slice(0, count)
}

async function warmModel() {
  const base = folderOf('three-tasks')
  const directory = `.cache/experiments/hints-model-${steps}`
  if (!existsSync(`${directory}/model.safetensors`)) {
    const model = await loadModel(base, { disk })
    const [batch, tagged] = [64, { plain: 0, hinted: [0.1, 0.4, 0.9] as const }]
    const what = { task, difficulty: LEVEL, steps, batch, learningRate: 2e-3, tagged }
    await warmStart(what, { engine: engines.policy, model, log: console.log })
    await keepModel(directory, base, { engine: engines.policy, model })
  }
  return loadModel(directory, { disk })
}
