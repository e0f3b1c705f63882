// waggle score with --ids, --text or --chat: log-probs and entropies by a model, JSON lines in, JSON lines out.

import { WaggleError } from '../../../protocol/errors.ts'
import { type Decoder, loadDecoder, loadModel } from '../../policy/model.ts'
import { nodeDisk as disk } from '../../store/node-disk.ts'
import type { Context } from '../context.ts'
import { contextConfig } from '../load-config.ts'
import { inputWindows } from './input-lines.ts'
import { locateModel } from './locate.ts'
import { openModel } from './open.ts'
import { type Reading, readChat, readIds, readText, scoreLines } from './score-lines.ts'

/** Lines that wait for each other, so that those of like length can go together. */
const WINDOW = 256

export async function scoreModel(context: Context): Promise<number> {
  const { options } = context
  const kinds = (['ids', 'text', 'chat'] as const).filter((kind) => options[kind] !== undefined)
  const [kind] = kinds
  if (kind === undefined || kinds.length > 1)
    throw new WaggleError('E_USAGE', 'give one of --ids, --text and --chat')
  const { config } = contextConfig(context)
  const { directory } = await locateModel(context, config.model.path)
  const { model, read } = await load(directory, kind)
  const { spec } = model
  const { engine, close } = await openModel(config, model)
  try {
    const windows = inputWindows({ file: options[kind] as string, most: WINDOW }, context)
    for await (const line of scoreLines(windows, { read, showIds: kind !== 'ids' }, { spec, engine })) {
      context.out(line)
    }
    return 0
  } finally {
    await close()
  }
}

async function load(
  directory: string,
  kind: 'ids' | 'text' | 'chat',
): Promise<{ model: Decoder; read: Reading }> {
  if (kind === 'ids') {
    const model = await loadDecoder(directory, { disk })
    return { model, read: readIds(model.spec) }
  }
  const model = await loadModel(directory, { disk })
  return { model, read: (kind === 'chat' ? readChat : readText)(model.spec, model.tokenizer) }
}
