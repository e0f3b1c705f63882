// Two nodes with the bundled model of three tasks train and exchange groups; the first records its steps as a node does that
// makes receipts. Each step comes with a way to compute it again.

import { ADAPTER_TARGETS, type AdapterSpec } from '../../../daemon/engine/decoder.ts'
import type { Engine } from '../../../daemon/engine/engine.ts'
import { trainable } from '../../../daemon/engine/stored/stored.ts'
import { createPluginHost } from '../../../daemon/host/host.ts'
import { randomStream } from '../../../daemon/host/random.ts'
import { initialAdapter } from '../../../daemon/policy/adapter.ts'
import { lineageOf } from '../../../daemon/policy/lineage.ts'
import { createTaskBook } from '../../../daemon/rollout/tasks.ts'
import { groupsOf } from '../../../daemon/trainer/audit/batch-groups.ts'
import { recomputeStep } from '../../../daemon/trainer/audit/recompute.ts'
import { createStepRecorder, type RecordedStep } from '../../../daemon/trainer/audit/recording.ts'
import type { FullState } from '../../../daemon/trainer/audit/state.ts'
import { layoutOf } from '../../../daemon/trainer/heads/vector.ts'
import { PLUGINS, TASKS } from '../../../daemon/wiring/built-in.ts'
import { decodeBatch, peerIdOf } from '../../../protocol/wire/index.ts'
import { createLocalEngine } from '../nodes/engine.ts'
import { createNode, DEFAULT_CORRECTIONS } from '../nodes/node.ts'
import { loadStart } from '../nodes/start.ts'

export interface Replayable {
  step: RecordedStep
  /** The state after it, as another engine computes it. */
  again(engine: Engine): Promise<FullState>
}

const [SELF, PEER] = [1, 2].map((byte) => peerIdOf(new Uint8Array(32).fill(byte))) as [string, string]
const LORA: AdapterSpec = { rank: 16, alpha: 32, targets: [...ADAPTER_TARGETS] }

/** `dense`: all parameters are trained. `lora`: an adapter of rank 16. */
export function adapterOf(arm: string): AdapterSpec | undefined {
  if (arm === 'dense') return undefined
  if (arm === 'lora') return LORA
  throw new Error(`no arm ${arm}; there are dense and lora`)
}

export async function* recordedSteps(
  adapter: AdapterSpec | undefined,
  rounds: number,
  seed: number,
): AsyncGenerator<Replayable> {
  const { model, tasks } = await loadStart('three-tasks')
  const spec = adapter ? { ...model.spec, adapter } : model.spec
  const layout = layoutOf(spec)
  const lineage = lineageOf({ base: model.digest, adapter })
  const initial = adapter
    ? initialAdapter(spec, randomStream(0, `adapter/${lineage}`))
    : trainable(model.weights)
  const book = createTaskBook(TASKS, tasks)
  const plugins = await openPlugins()
  let newest: RecordedStep | undefined
  const engine = createLocalEngine({ threads: 1 })
  const recorder = createStepRecorder(
    { layout },
    {
      trainer: engine,
      async keep(step) {
        newest = step
      },
      onTrouble: fail,
    },
  )
  const common = {
    model,
    tasks,
    own: 8,
    foreign: 8,
    adaptive: false,
    trusts: true,
    ...(adapter && { adapter }),
  }
  const first = await createNode({ ...common, name: SELF, seed, engine, recorder, learningRate: 1e-4 })
  const other = await createNode({ ...common, name: PEER, seed: seed + 1000, learningRate: 1e-4 })
  for (let round = 0; round < rounds; round++) {
    newest = undefined
    const [mine, theirs] = [await first.round(), await other.round()]
    for (const draft of theirs.shared) first.receive(PEER, draft)
    for (const draft of mine.shared) other.receive(SELF, draft)
    const step = newest as RecordedStep | undefined
    if (!step) continue
    if ('closed' in step.batch) throw new Error(step.batch.closed)
    const { settings, ...batch } = decodeBatch(step.batch)
    const read = await groupsOf(
      { settings, ...batch },
      step,
      { self: SELF },
      {
        findTask: book.find,
        encodePrompt: model.tokenizer.encodePrompt,
        decode: (tokens) => model.tokenizer.decodeCompletion(tokens),
        pause: async () => {},
      },
    )
    if (!('groups' in read)) throw new Error(JSON.stringify(read))
    const { groups } = read
    yield {
      step,
      again: (one) =>
        recomputeStep(
          {
            ...{ before: step.before, groups, settings, self: SELF, version: step.version, temperature: 1 },
            aggregation: { mode: 'token_mean', length: 1 },
          },
          { engine: one, spec, layout, base: model.digest, frozen: model.weights, initial, plugins },
        ),
    }
  }
  await Promise.all([first.close(), other.close(), engine.close(), plugins.close()])
}

function openPlugins() {
  return createPluginHost(
    {
      ...{ estimator: { use: 'grpo' }, corrections: DEFAULT_CORRECTIONS, selector: { use: 'uniform' } },
      seed: 0,
    },
    {
      builtIn: PLUGINS,
      importPlugin: () => Promise.reject(new Error('all are built in')),
      ...{ now: () => 0, sleep: () => new Promise(() => {}), log() {}, onTrouble: fail },
    },
  )
}

function fail(error: unknown): never {
  throw error
}
