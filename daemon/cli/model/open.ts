// Opens a model in an engine, for commands that use it without a node.

import { availableParallelism } from 'node:os'
import type { Config } from '../../config/schema.ts'
import type { Engine, OpenRequest } from '../../engine/engine.ts'
import { createEngines } from '../../engine/select.ts'
import { type BaseWeights, formsOf } from '../../engine/stored/stored.ts'
import type { Decoder } from '../../policy/model.ts'
import type { Context } from '../contract.ts'
import { withProgress } from '../text/progress.ts'

/** What trains nothing, so that all weights may be quantized. */
const NOTHING = { rank: 1, alpha: 1, targets: [] }

export interface OpenedModel<Loaded extends Decoder<BaseWeights>> {
  model: Loaded
  engine: Engine
  close(): Promise<void>
}

/** `known` is what stop strings or grammars need of the tokens. */
export async function openModel<Loaded extends Decoder<BaseWeights>>(
  context: Pick<Context, 'io' | 'quiet' | 'say'>,
  config: Config,
  model: Loaded,
  known: Pick<OpenRequest, 'pieces' | 'tokenBytes'> = {},
): Promise<OpenedModel<Loaded>> {
  const threads = config.engine.threads || availableParallelism()
  const [engine] = await withProgress(context, 'start', {}, async () => {
    const { sampling_precision: samplingPrecision, ...engine } = config.engine
    const engines = await createEngines({ ...engine, threads, samplingPrecision, like: model.spec }, 1)
    const isStored = Object.keys(formsOf(model.weights)).length > 0
    const spec = isStored ? { ...model.spec, adapter: model.spec.adapter ?? NOTHING } : model.spec
    await engines[0]!.open({ ...model, spec, ...known })
    return engines
  })
  return { model, engine: engine!, close: () => engine!.close() }
}
