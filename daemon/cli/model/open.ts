// Opens a model in an engine, for commands that use it without a node.

import { availableParallelism } from 'node:os'
import type { Config } from '../../config/schema.ts'
import type { Engine, OpenRequest } from '../../engine/engine.ts'
import { createEngines } from '../../engine/select.ts'
import type { Decoder } from '../../policy/model.ts'
import type { Context } from '../contract.ts'
import { withProgress } from '../text/progress.ts'

export interface OpenedModel<Loaded extends Decoder> {
  model: Loaded
  engine: Engine
  close(): Promise<void>
}

/** `known` is what stop strings or grammars need of the tokens. */
export async function openModel<Loaded extends Decoder>(
  context: Pick<Context, 'io' | 'quiet' | 'say'>,
  config: Config,
  model: Loaded,
  known: Pick<OpenRequest, 'pieces' | 'tokenBytes'> = {},
): Promise<OpenedModel<Loaded>> {
  const threads = config.engine.threads || availableParallelism()
  const [engine] = await withProgress(context, 'start', {}, async () => {
    const engines = await createEngines({ ...config.engine, threads }, 1)
    await engines[0]!.open({ ...model, ...known })
    return engines
  })
  return { model, engine: engine!, close: () => engine!.close() }
}
