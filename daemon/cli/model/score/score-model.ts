// waggle score with --ids, --text or --chat: log-probs and entropies of a model, as JSON lines.

import { WaggleError } from '../../../../protocol/errors.ts'
import type { BaseWeights } from '../../../engine/stored/stored.ts'
import { type Decoder, loadDecoder } from '../../../policy/model.ts'
import { nodeDisk as disk } from '../../../store/node-disk.ts'
import type { Context } from '../../contract.ts'
import { contextConfig } from '../../load-config.ts'
import { loadAskedAs } from '../checkpoint.ts'
import { locateModel } from '../locate.ts'
import { newestCheckpoint } from '../manifests.ts'
import { openModel } from '../open.ts'
import { inputWindows } from './input-lines.ts'
import { type Reading, readChat, readIds, readText, scoreLines } from './score-lines.ts'

/** Number of lines scored together, so that lines of similar length share a batch. */
const WINDOW = 256

export async function scoreModel(context: Context): Promise<number> {
  const { options } = context
  const kinds = (['ids', 'text', 'chat'] as const).filter((kind) => options[kind] !== undefined)
  const [kind] = kinds
  if (kind === undefined || kinds.length > 1)
    throw new WaggleError('E_USAGE', 'give one of --ids, --text and --chat')
  const { config } = contextConfig(context)
  const { model, read, name } = await load(context, kind)
  if (options.model === undefined) context.say(`scored by ${name}`)
  const { spec } = model
  const { engine, close } = await openModel(context, config, model)
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

/** The same model as for `generate` and `chat`, but as F32, and token IDs need no tokenizer. */
async function load(
  context: Context,
  kind: 'ids' | 'text' | 'chat',
): Promise<{ model: Decoder<BaseWeights>; read: Reading; name: string }> {
  const { options, paths } = context
  if (kind === 'ids' && (options.model !== undefined || !newestCheckpoint(paths.checkpoints))) {
    const { directory, name } = await locateModel(context, contextConfig(context).config.model.path)
    const model = await loadDecoder(directory, { disk })
    return { model, read: readIds(model.spec), name }
  }
  const { model, name } = await loadAskedAs(context, 'f32')
  const { spec, tokenizer } = model
  const read = kind === 'ids' ? readIds(spec) : (kind === 'chat' ? readChat : readText)(spec, tokenizer)
  return { model, read, name }
}
