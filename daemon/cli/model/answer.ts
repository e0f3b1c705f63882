// One answer of a model, printed while it is sampled. Ctrl-C stops the answer, not the program.

import type { Sample } from '../../engine/engine.ts'
import type { Model } from '../../policy/model.ts'
import type { Context } from '../contract.ts'
import { withProgress } from '../text/progress.ts'
import type { OpenedModel } from './open.ts'
import type { Asked } from './sampling-options.ts'
import { createTextStream } from './text-stream.ts'

export type { ChatMessage } from '../../policy/chat/template.ts'

export interface Answer {
  text: string
  sample: Sample
}

export async function answer(
  { prompt, sampling, drawn = 0 }: { prompt: Int32Array; sampling: Asked; drawn?: number },
  { model, engine }: OpenedModel<Model>,
  context: Pick<Context, 'io' | 'quiet' | 'say'>,
  write: (text: string) => void,
): Promise<Answer> {
  const { seed, maxNewTokens, ...distribution } = sampling
  const started = Promise.withResolvers<void>()
  const reading = withProgress(context, 'read', {}, () => started.promise)
  // The line of progress is cleared before the answer begins.
  let isClear = false
  void reading.then(() => {
    isClear = true
    for (const token of early.splice(0)) stream.push(token)
  })
  const early: number[] = []
  const stream = createTextStream(model, write)
  const room = model.spec.contextLength - prompt.length
  const stop = new AbortController()
  const off = context.io.onSignal(() => stop.abort())
  try {
    const [sample] = await engine.generate(
      {
        ...distribution,
        samples: [{ prompt, seed, drawn }],
        maxNewTokens: Math.max(1, Math.min(maxNewTokens, room)),
        stopTokens: model.tokenizer.stopTokens,
      },
      {
        signal: stop.signal,
        onToken({ token }) {
          started.resolve()
          if (isClear) stream.push(token)
          else early.push(token)
        },
      },
    )
    started.resolve()
    await reading
    return { text: stream.end(sample!.tokens), sample: sample! }
  } finally {
    started.resolve()
    off()
  }
}
