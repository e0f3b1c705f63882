// Serves an opened model without a node.

import { randomBytes } from 'node:crypto'
import { totalmem } from 'node:os'
import { nameForClients, offeredModel, openServe, type Serving } from '../../agents/index.ts'
import type { Paths } from '../../config/paths.ts'
import type { Config } from '../../config/schema.ts'
import type { DecoderSpec } from '../../engine/decoder.ts'
import { tokenOf } from '../../http/index.ts'
import { after } from '../../platform/index.ts'
import { chatDefaults } from '../../policy/files/generation-defaults.ts'
import type { StoredModel } from '../../policy/model.ts'
import type { OpenedModel } from './open.ts'

interface ServeParts {
  /** The model's name, or its path. */
  name: string
  config: Config
  paths: Pick<Paths, 'serveKey'>
  log(level: 'error', message: string): void
}

export const DEFAULT_LISTEN = '127.0.0.1:4390'

export async function serveModel(
  { model, engine }: OpenedModel<StoredModel>,
  { config, paths, name, log }: ServeParts,
): Promise<Serving> {
  const { listen = DEFAULT_LISTEN, public: isPublic, origins, max_calls: maxRunning } = config.serve
  const { spec, tokenizer, files } = model
  return await openServe(
    {
      ...{ listen, isPublic, origins, maxRunning, maxWaiting: config.serve.max_waiting },
      ...offeredModel(model, {
        model: nameForClients(name),
        context: contextFor(spec, { asked: config.agents.max_tokens, calls: maxRunning }),
      }),
      enforces: true,
      sampling: chatDefaults(files.generation),
    },
    {
      ...{ tokenizer, sampler: engine, log, after, randomBytes },
      key: () => tokenOf(paths.serveKey),
      now: Date.now,
      monotonic: () => performance.now(),
    },
  )
}

/** Share of the machine's memory for keys and values, of which there are two copies while room grows. */
const SHARE = 1 / 4
const COPIES = 2
const LEAST = 2048

/** Tokens of a conversation: as many as were asked for, or as memory allows for all calls. */
function contextFor(spec: DecoderSpec, { asked, calls }: { asked: number; calls: number }): number {
  const { layers, kvHeads, headWidth, contextLength } = spec
  const perToken = 4 * 2 * layers * kvHeads * headWidth
  const fitting = Math.floor((SHARE * totalmem()) / (COPIES * calls * perToken))
  return Math.min(contextLength, asked > 0 ? asked : Math.max(LEAST, fitting))
}
