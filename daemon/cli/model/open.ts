// Opens a model in an engine, for commands that use it without a node.

import { availableParallelism } from 'node:os'
import type { Config } from '../../config/schema.ts'
import type { Engine } from '../../engine/engine.ts'
import { createEngines } from '../../engine/select.ts'
import type { Decoder } from '../../policy/model.ts'

export interface OpenedModel<Loaded extends Decoder> {
  model: Loaded
  engine: Engine
  close(): Promise<void>
}

/** `pieces` is the text of each token, which stop strings need. */
export async function openModel<Loaded extends Decoder>(
  config: Config,
  model: Loaded,
  pieces?: readonly string[],
): Promise<OpenedModel<Loaded>> {
  const threads = config.engine.threads || availableParallelism()
  const [engine] = await createEngines({ ...config.engine, threads }, 1)
  await engine!.open({ ...model, ...(pieces ? { pieces } : {}) })
  return { model, engine: engine!, close: () => engine!.close() }
}
