// What does replay add on prompts that come back? `npm run -s experiment:replay [-- --seeds 3 --tokens 150000 --arms none,r3 --out FILE]`
//
// A fixed set of prompts that the model of three tasks gets right now and then: at most `most` times in 32. Each arm learns
// from that set until it has generated as many tokens as the others, reflections included, and is asked without plugins
// at every tenth of the way on the set, and in the end on held-out prompts of the same level.
// Runs are kept in a file as they end; a call with the same file makes those missing.

import { parseArgs } from 'node:util'
import { TASKS } from '../../../daemon/built-in.ts'
import { HELD_OUT_SEED, type PromptCoordinates } from '../../../protocol/train/index.ts'
import { createLocalEngine } from '../in-process/engine.ts'
import { openRecords } from '../in-process/records.ts'
import { loadStart } from '../in-process/start.ts'
import { mean } from '../in-process/statistics.ts'
import { rightAnswers } from './answers.ts'
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
/** Runs with the same settings can be compared. */
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
const ask = { engine, model, task, maxNewTokens: MAX_NEW_TOKENS, temperature: 1 }
await engine.open({ spec: model.spec, weights: model.weights })
const set = await recurring(Number(flags.prompts))
const heldOut = Array.from({ length: Number(flags['held-out']) }, (_, i) => at(HELD_OUT_SEED + i))
const before = { set: await accuracy(set), heldOut: await accuracy(heldOut) }
console.log(`${set.length} prompts, ${percent(before.set)} right; held-out ${percent(before.heldOut)}`)

const records = await openRecords<ReplayRun>(flags.out)
const isSame = (run: ReplayRun): boolean => run.settings === settings
for (let seed = 1; seed <= Number(flags.seeds); seed++) {
  for (const arm of arms) {
    if (records.done.some((run) => isSame(run) && run.arm === arm && run.seed === seed)) continue
    const run = await play(arm, seed)
    await records.add(run)
    console.log(
      `seed ${seed} ${arm}: set ${percent(run.curve.at(-1)!.set)}, held-out ${percent(run.heldOut)}, ${run.rounds} rounds, ${run.seconds.toFixed(0)} s`,
    )
  }
}
console.log(table(records.done.filter(isSame), { arms, before, target: Number(flags.target) }))
await engine.close()

async function play(arm: string, seed: number): Promise<ReplayRun> {
  const plugins = ARMS[arm]
  if (!plugins) throw new Error(`there is no arm "${arm}"; there are ${Object.keys(ARMS).join(', ')}`)
  const started = performance.now()
  const tokens = Number(flags.tokens)
  const node = await createHookedNode({
    seed,
    model,
    tasks: TASKS,
    candidates: set,
    prompts: PROMPTS,
    groupSize: GROUP,
    maxNewTokens: MAX_NEW_TOKENS,
    learningRate: Number(flags['learning-rate']),
    plugins,
    engines: { policy: engine, roles: {} },
  })
  const curve = [{ tokens: 0, set: before.set }]
  const fresh: number[] = []
  const replayed: number[] = []
  while (node.tokens < tokens) {
    const round = await node.round()
    // By the verifier alone: right and wrong answers of one policy to one prompt.
    const mixed = round.groups.filter(({ rollouts }) => {
      const right = rollouts.filter((one) => (one.taskReward ?? one.reward) === 1).length
      return right > 0 && right < rollouts.length
    })
    fresh.push(mixed.length / round.groups.length)
    const [, count = 0] = Object.entries(round.metrics).find(([name]) => name.endsWith('.replayed')) ?? []
    replayed.push(count)
    if (node.tokens >= (curve.length * tokens) / LOOKS)
      curve.push({ tokens: node.tokens, set: await accuracy(set) })
  }
  // What a plugin fails at is told and survived by a node; here it would be a wrong number.
  const failed = node.host.status().find(({ strikes }) => strikes > 0)
  if (failed) throw new Error(`${failed.name}: ${failed.message}`)
  return {
    arm,
    seed,
    settings,
    rounds: fresh.length,
    updates: node.updates,
    fresh: mean(fresh),
    replayed: mean(replayed),
    curve,
    heldOut: await accuracy(heldOut),
    seconds: (performance.now() - started) / 1000,
  }
}

/** Four answers a prompt at temperature 1, without plugins. */
async function accuracy(prompts: readonly PromptCoordinates[]): Promise<number> {
  return mean(await rightAnswers(prompts, { ...ask, samples: 4 })) / 4
}

async function recurring(count: number): Promise<PromptCoordinates[]> {
  const found: PromptCoordinates[] = []
  for (let from = 0; found.length < count && from < 4096; from += 64) {
    const some = Array.from({ length: 64 }, (_, i) => at(from + i))
    const right = await rightAnswers(some, { ...ask, samples: 32 })
    found.push(...some.filter((_, i) => right[i]! > 0 && right[i]! <= Number(flags.most)))
  }
  if (found.length < count)
    throw new Error(`only ${found.length} prompts are right 1 to ${flags.most} times in 32`)
  return found.slice(0, count)
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`
}
