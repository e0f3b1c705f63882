// What do plugins cost a node just by being loaded? Two nodes without peers do the same work, step by step in turns:
// one with the default plugins only, one with ten more that have every hook and change nothing. A step is one round
// with a fresh node's sizes and the update on its groups.
//
//   node --import tsx scripts/bench/plugins.ts [--steps 12] [--plugins 10] [--no-steer]
//
// Prints the share of a step that is spent in the host with all hooks (the sum of its calls, none of which waits for
// the engine here), and the ratios of whole steps by wall time and by processor time of all threads, as medians of
// the pairs. The first pair compiles graphs and is left out. A hook that steers receives every token as it is
// written; --no-steer leaves such hooks out.

import { parseArgs } from 'node:util'
import { z } from 'zod'
import type { Engine } from '../../daemon/engine/engine.ts'
import { createEngines } from '../../daemon/engine/select.ts'
import { createPluginHost, type PluginHost } from '../../daemon/host/host.ts'
import { randomStream } from '../../daemon/host/random.ts'
import { openPolicy } from '../../daemon/policy/live-policy.ts'
import { loadModel } from '../../daemon/policy/model.ts'
import { candidatePrompts } from '../../daemon/rollout/candidates.ts'
import { createPluginWorld } from '../../daemon/rollout/plugins/plugin-world.ts'
import { playRound } from '../../daemon/rollout/round.ts'
import { createTaskBook } from '../../daemon/rollout/tasks.ts'
import { nodeDisk as disk } from '../../daemon/store/node-disk.ts'
import { update } from '../../daemon/trainer/update.ts'
import { PLUGINS, TASKS } from '../../daemon/wiring/built-in.ts'
import { definePlugin, type Hooks, NEEDS, type Need, type Plugin } from '../../protocol/plugin/index.ts'
import { hasSignal } from '../../protocol/train/index.ts'

const { values } = parseArgs({
  options: {
    steps: { type: 'string', default: '12' },
    plugins: { type: 'string', default: '10' },
    'no-steer': { type: 'boolean', default: false },
  },
})
const [steps, count] = [Number(values.steps), Number(values.plugins)]
const SELF = 'bench'
const OPTIMIZER = {
  learningRate: 1e-5,
  beta1: 0.9,
  beta2: 0.99,
  epsilon: 1e-8,
  weightDecay: 0,
  maxGradientNorm: 1,
}

/** Every hook; places that one plugin may take are the first one's. */
function idle(index: number): Plugin {
  const hooks: Hooks = {
    weigh: (candidates) => new Float64Array(candidates.length).fill(1),
    compose: () => undefined,
    extend: () => [],
    reward: () => undefined,
    group: (groups) => groups,
    observe() {},
    modify: (advantages) => advantages,
    commit: () => undefined,
    ...(index === 0 && !values['no-steer']
      ? { steer: () => new Map(), oversample: (want: number) => want }
      : {}),
  }
  return definePlugin({
    name: `idle_${index}`,
    kind: 'control',
    api: 1,
    summary: 'Has every hook and changes nothing.',
    settings: z.strictObject({}),
    create: () => hooks,
  })
}

const model = await loadModel(new URL('../../models/default', import.meta.url).pathname, { disk })
const tasks = createTaskBook(TASKS, [
  { name: 'basic_arithmetic', difficulty: 1 },
  { name: 'base_conversion', difficulty: 0 },
  { name: 'fraction_simplification', difficulty: 1 },
])
const candidates = candidatePrompts(tasks.view, 256, 1)

async function openNode(plugins: readonly Plugin[]) {
  // In threads of their own, as in a node: what this thread does while a hook runs is the hook's.
  const [sampler, trainer] = (await createEngines({ kind: 'onnx', device: 'cpu', threads: 1 }, 2)) as [
    Engine,
    Engine,
  ]
  const policy = await openPolicy({ model }, { sampler, trainer, random: randomStream(1, 'adapter') })
  const host: PluginHost = await createPluginHost(
    {
      estimator: { use: 'grpo' },
      corrections: [
        { use: 'clip' },
        { use: 'tis', unknown: 'keep' },
        { use: 'foreign' },
        { use: 'staleness' },
      ],
      selector: { use: 'uniform' },
      controls: plugins.map(({ name }) => ({ use: name })),
      seed: 1,
      offers: new Set(Object.keys(NEEDS) as Need[]),
    },
    {
      builtIn: [...PLUGINS, ...plugins],
      importPlugin: (specifier) => Promise.reject(new Error(`${specifier} is not built in`)),
      now: () => performance.now(),
      sleep: (_ms, signal) => new Promise((_, reject) => signal.addEventListener('abort', reject)),
      log: () => {},
      onTrouble: ({ name, message }) => {
        throw new Error(`${name}: ${message}`)
      },
    },
  )
  const { tokenizer, spec } = model
  const limits = { context: spec.contextLength, completion: 96 }
  await host.open(
    createPluginWorld(
      { limits },
      { tasks, policy: { sampler, scorer: sampler, tokenizer }, roles: new Map() },
    ),
    0,
  )
  let inHost = 0
  let rounds = 0
  /** The same, with the time of every call added up. */
  const timed = <Part extends object>(part: Part): Part =>
    new Proxy(part, {
      get(target, name) {
        const value = Reflect.get(target, name)
        if (typeof value !== 'function') return value
        return (...words: unknown[]) => {
          const began = performance.now()
          const add = () => {
            inHost += performance.now() - began
          }
          const result: unknown = value.apply(target, words)
          if (result instanceof Promise) return result.finally(add)
          add()
          return result
        }
      },
    })

  /** Milliseconds of a step, those in the host, and what shows that both did the same. */
  return async () => {
    const began = performance.now()
    const cpu = process.cpuUsage()
    inHost = 0
    const reference = policy.reference()
    const { lineage, version } = reference
    const random = randomStream(1, `round/${rounds++}`)
    const { groups, tokens } = await playRound(
      {
        view: { tasks: tasks.view, rollouts: 8, candidates },
        want: 16,
        policy: reference,
        maxNewTokens: limits.completion,
        context: limits.context,
        vocabulary: spec.vocabulary,
        temperature: 1,
        maxStaleness: 8,
        author: SELF,
        sampleSeed: () => Math.floor(random() * 2 ** 32),
        now: () => rounds,
      },
      { sampler, tokenizer, tasks, hooks: timed(host.round({ step: version })) },
    )
    const batch = timed(host.batch({ step: version }))
    const view = { lineage, tokenizer: reference.tokenizer, version, self: SELF }
    const chosen = (await batch.group(groups, view)).filter(hasSignal)
    if (chosen.length > 0) {
      const advantages = await batch.advantage(chosen)
      const report = await update(
        chosen,
        advantages,
        {
          temperature: 1,
          minibatches: 1,
          optimizer: OPTIMIZER,
          self: SELF,
          lineage,
          version,
          isBelieved: () => true,
          columns: await batch.columns(advantages, chosen),
          standing: () => 1,
          learnForeign: false,
          compare: false,
        },
        { engine: trainer, objective: host.objective, random: randomStream(1, 'cut') },
      )
      await policy.advance(report.steps)
      await batch.commit({ step: version + 1, metrics: report.metrics, groups: chosen, advantages })
    }
    const { user, system } = process.cpuUsage(cpu)
    return {
      ms: performance.now() - began,
      cpu: user + system,
      inHost,
      same: `${tokens} ${chosen.map(({ id }) => id)}`,
    }
  }
}

const plain = await openNode([])
const loaded = await openNode(Array.from({ length: count }, (_, i) => idle(i)))
const ratios: number[] = []
const byCpu: number[] = []
const shares: number[] = []
for (let step = 0; step <= steps; step++) {
  // Who begins changes, so that neither has the warmer machine.
  const [a, b] = step % 2 === 0 ? [await plain(), await loaded()] : (await both()).reverse()
  if (a!.same !== b!.same) throw new Error('the plugins changed what was done')
  if (step === 0) continue
  ratios.push(b!.ms / a!.ms)
  byCpu.push(b!.cpu / a!.cpu)
  shares.push(b!.inHost / b!.ms)
  console.log(
    `step ${step}: ${a!.ms.toFixed(0)} ms with none, ${b!.ms.toFixed(0)} ms with ${count}, ${b!.inHost.toFixed(1)} ms of it in the host`,
  )
}
console.log(
  `in the host, of a step with ${count} plugins: ${percent(median(shares))} (largest ${percent(Math.max(...shares))})`,
)
console.log(
  `whole steps, with ${count} over with none: ${median(ratios).toFixed(4)} (median of ${ratios.length} pairs)`,
)

console.log(`the same in CPU time: ${median(byCpu).toFixed(4)}`)
process.exit(0)

async function both() {
  const second = await loaded()
  return [second, await plain()]
}

function median(numbers: readonly number[]): number {
  const sorted = [...numbers].sort((a, b) => a - b)
  return (sorted[(sorted.length - 1) >> 1]! + sorted[sorted.length >> 1]!) / 2
}

function percent(share: number): string {
  return `${(100 * share).toFixed(3)} %`
}
