// What is gained by not waiting for the longest answers? `npm run -s experiment:april [-- --rounds 40 --temperature
// 1.3]`
//
// The model of three tasks answers without training, at a temperature high enough for a long tail of lengths. The
// same rounds run with and without april, in turns, with all rollouts of a round side by side. Prints finished groups
// per second, per processor second and per decoding step (one step writes one token of every open rollout). The
// figure per step is what matters on a device whose steps cost the same for any number of rollouts; on a CPU the cost
// of a step grows with their number. Also prints lengths, how many rollouts were parked, and whether april's finished
// groups differ in mean length and reward.

import { parseArgs } from 'node:util'
import type { Engine } from '../../../daemon/engine/engine.ts'
import { randomStream } from '../../../daemon/host/random.ts'
import { createParkedGroups } from '../../../daemon/rollout/parked/parked.ts'
import { createPluginWorld } from '../../../daemon/rollout/plugins/plugin-world.ts'
import { playRound } from '../../../daemon/rollout/round.ts'
import { createTaskBook } from '../../../daemon/rollout/tasks.ts'
import { TASKS } from '../../../plugins/tasks/index.ts'
import type { Group } from '../../../protocol/train/index.ts'
import { markdown, mean, show, summary } from '../../lab/frame/statistics.ts'
import { createLocalEngine } from '../in-process/engine.ts'
import { loadStart } from '../in-process/start.ts'
import { thisMachine } from '../machine.ts'
import { openHost } from './host.ts'

const { values: flags } = parseArgs({
  options: {
    rounds: { type: 'string', default: '40' },
    seeds: { type: 'string', default: '3' },
    groups: { type: 'string', default: '8' },
    rollouts: { type: 'string', default: '8' },
    temperature: { type: 'string', default: '1.3' },
    'max-new-tokens': { type: 'string', default: '160' },
    threads: { type: 'string', default: '2' },
  },
})
const temperature = Number(flags.temperature)
const ARMS = { plain: [], april: [{ use: 'april' }], 'april, 1.5': [{ use: 'april', ratio: 1.5 }] }
type Arm = keyof typeof ARMS

interface Rates {
  perSecond: number
  perCpuSecond: number
  perStep: number
  /** Tokens by step: how full a step is. */
  full: number
  length: number
  reward: number
}

const { model } = await loadStart('three-tasks')
const { tokenizer } = model
const inner = createLocalEngine({ threads: Number(flags.threads) })
await inner.open({ spec: model.spec, weights: model.weights, version: 0 })
let steps = 0
const engine: Engine = {
  ...inner,
  async generate(request, options) {
    const written = await inner.generate({ ...request, slots: request.samples.length }, options)
    steps += Math.max(0, ...written.map(({ tokens }) => tokens.length))
    return written
  },
}
const tasks = createTaskBook(TASKS, [{ name: 'fraction_simplification', difficulty: 1 }])
const limits = { context: model.spec.contextLength, completion: Number(flags['max-new-tokens']) }
const lengths: number[] = []

async function play(arm: Arm, seed: number): Promise<Rates> {
  const host = await openHost({ seed, plugins: { controls: ARMS[arm] }, roles: [] })
  await host.open(
    createPluginWorld(
      { limits },
      { tasks, policy: { sampler: engine, scorer: engine, tokenizer }, roles: new Map() },
    ),
    0,
  )
  const parked = createParkedGroups()
  const random = randomStream(seed, 'rounds')
  const done: Group[] = []
  let tokens = 0
  const round = async (version: number): Promise<Group[]> => {
    const played = await playRound(
      {
        view: { tasks: tasks.view, rollouts: Number(flags.rollouts) },
        want: Number(flags.groups),
        policy: { lineage: model.digest, tokenizer: tokenizer.digest, version },
        maxNewTokens: limits.completion,
        context: limits.context,
        vocabulary: model.spec.vocabulary,
        temperature,
        maxStaleness: 8,
        author: 'alone',
        sampleSeed: () => Math.floor(random() * 2 ** 32),
        now: () => 0,
      },
      { sampler: engine, tokenizer, tasks, hooks: host.round({ step: version }), parked },
    )
    tokens += played.tokens
    return played.groups
  }
  // Graphs are compiled, and something is parked, before it counts.
  await round(0)
  await round(1)
  tokens = 0
  steps = 0
  const [cpu, started] = [process.cpuUsage(), performance.now()]
  for (let i = 0; i < Number(flags.rounds); i++) done.push(...(await round(2 + i)))
  const seconds = (performance.now() - started) / 1000
  const { user, system } = process.cpuUsage(cpu)
  const rollouts = done.flatMap((group) => group.rollouts)
  if (arm === 'plain') lengths.push(...rollouts.map((one) => one.tokens.length))
  return {
    perSecond: done.length / seconds,
    perCpuSecond: done.length / ((user + system) / 1e6),
    perStep: (1000 * done.length) / steps,
    full: tokens / steps,
    length: mean(rollouts.map((one) => one.tokens.length)),
    reward: mean(rollouts.map((one) => one.reward)),
  }
}

const found = Object.fromEntries(Object.keys(ARMS).map((arm) => [arm, [] as Rates[]]))
for (let seed = 1; seed <= Number(flags.seeds); seed++)
  for (const arm of Object.keys(ARMS) as Arm[]) found[arm]!.push(await play(arm, seed))
await engine.close()

lengths.sort((a, b) => a - b)
const quantile = (share: number): number => lengths[Math.floor(share * (lengths.length - 1))]!
console.log(`${thisMachine()}; lengths ${[0.5, 0.9, 0.99, 1].map(quantile).join(', ')} at 50, 90, 99, 100 %`)
const against = (arm: string, read: (rates: Rates) => number): string =>
  // Seed by seed: the same prompts.
  show(summary(found[arm]!.map((rates, i) => read(rates) / read(found.plain![i]!))), 2)
console.log(
  markdown(
    ['', 'groups by second', 'by processor second', 'by step', 'rollouts in a step', 'length', 'reward'],
    Object.keys(ARMS).map((arm) => [
      arm,
      `x ${against(arm, ({ perSecond }) => perSecond)}`,
      `x ${against(arm, ({ perCpuSecond }) => perCpuSecond)}`,
      `x ${against(arm, ({ perStep }) => perStep)}`,
      mean(found[arm]!.map(({ full }) => full)).toFixed(1),
      mean(found[arm]!.map(({ length }) => length)).toFixed(1),
      show(summary(found[arm]!.map(({ reward }) => reward))),
    ]),
  ),
)
