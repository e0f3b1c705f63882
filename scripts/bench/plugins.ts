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
import { ADAMW } from '../../daemon/engine/trainer.ts'
import { createPluginHost, type PluginHost } from '../../daemon/host/host.ts'
import { createRounds } from '../../daemon/library/rounds.ts'
import { openPolicy } from '../../daemon/policy/live-policy.ts'
import { loadModel } from '../../daemon/policy/model.ts'
import { candidatePrompts } from '../../daemon/rollout/candidates.ts'
import { createTaskBook } from '../../daemon/rollout/tasks.ts'
import { nodeDisk as disk } from '../../daemon/store/node-disk.ts'
import { PLUGINS, TASKS } from '../../daemon/wiring/built-in.ts'
import { definePlugin, type Hooks, type Plugin } from '../../protocol/plugin/index.ts'

const { values } = parseArgs({
  options: {
    steps: { type: 'string', default: '12' },
    plugins: { type: 'string', default: '10' },
    'no-steer': { type: 'boolean', default: false },
  },
})
const [steps, count] = [Number(values.steps), Number(values.plugins)]
const OPTIMIZER = {
  ...ADAMW,
  learningRate: 1e-5,
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
  const policy = await openPolicy({ model }, { sampler, trainer })
  let inHost = 0
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
  const rounds = await createRounds(
    {
      ...{ self: 'bench', seed: 1, own: 16, foreign: 0, adaptive: false, candidates },
      plugins: {
        estimator: { use: 'grpo' },
        corrections: [{ use: 'clip' }, { use: 'tis', unknown: 'keep' }, { use: 'foreign' }],
        selector: { use: 'uniform' },
        controls: plugins.map(({ name }) => ({ use: name })),
      },
      pace: () => ({ minibatches: 1, optimizer: OPTIMIZER }),
      ...{ groupSize: 8, temperature: 1, maxNewTokens: 96, maxStaleness: 8 },
      ...{ warmUpSteps: 1, keepEvery: 1000 },
    },
    {
      ...{ policy, tasks, builtIn: [...PLUGINS, ...plugins] },
      importPlugin: (specifier) => Promise.reject(new Error(`${specifier} is not built in`)),
      now: () => 0,
      monotonic: () => performance.now(),
      sleep: (_ms, signal) => new Promise((_, reject) => signal.addEventListener('abort', reject)),
      isTrusted: () => false,
      onFinding() {},
      onTrouble: ({ name, message }) => {
        throw new Error(`${name}: ${message}`)
      },
      async createHost(...given) {
        const host = await createPluginHost(...given)
        return Object.assign(Object.create(host) as PluginHost, {
          round: (of: Parameters<PluginHost['round']>[0]) => timed(host.round(of)),
          batch: (of: Parameters<PluginHost['batch']>[0]) => timed(host.batch(of)),
        })
      },
    },
  )

  /** Milliseconds of a step, those in the host, and what shows that both did the same. */
  return async () => {
    const [began, cpu] = [performance.now(), process.cpuUsage()]
    inHost = 0
    const { groups, generatedTokens } = await rounds.round()
    const { user, system } = process.cpuUsage(cpu)
    return {
      ms: performance.now() - began,
      cpu: user + system,
      inHost,
      same: `${generatedTokens} ${groups.map(({ id }) => id)}`,
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
