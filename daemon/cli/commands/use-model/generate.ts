// waggle generate: one completion of a text, or one answer to a question. Works without a daemon.

import { text as readAll } from 'node:stream/consumers'
import { WaggleError } from '../../../../protocol/errors.ts'
import type { Context } from '../../contract.ts'
import { contextConfig } from '../../load-config.ts'
import { answer, answerLine } from '../../model/answer.ts'
import { loadAsked } from '../../model/checkpoint.ts'
import { openModel } from '../../model/open.ts'
import { piecesFor, samplingOf } from '../../model/sampling-options.ts'

export async function run(context: Context): Promise<number> {
  const { options, io, json, out } = context
  const [given] = context.arguments
  const text = given === '-' ? await readAll(io.stdin) : given!
  const { config } = contextConfig(context)
  const { model, name } = await loadAsked(context)
  const sampling = samplingOf(context, model)
  const { tokenizer, spec } = model
  const asked = options.raw === true || !tokenizer.hasChatTemplate
  const prompt = asked
    ? tokenizer.encodeText(text)
    : tokenizer.encodeChat([{ role: 'user', content: text }], { prompt: true })
  if (prompt.length === 0) throw new WaggleError('E_USAGE', 'the text is empty')
  if (prompt.length >= spec.contextLength) {
    throw new WaggleError(
      'E_USAGE',
      `the text has ${prompt.length} tokens, but the context of the model only ${spec.contextLength}`,
    )
  }
  context.say(`${name}, temperature ${sampling.temperature}, seed ${sampling.seed}`)
  const opened = await openModel(context, config, model, piecesFor(sampling, model))
  try {
    const write = json ? () => {} : (part: string) => void io.stdout.write(part)
    const done = await answer({ prompt, sampling }, opened, context, write)
    if (json) out(answerLine(done, sampling))
    else io.stdout.write('\n')
    return 0
  } finally {
    await opened.close()
  }
}
