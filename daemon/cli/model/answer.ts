// One answer of a model, printed while it is sampled. Ctrl-C stops the answer, not the program.

import type { Sample } from '../../engine/engine.ts'
import type { Model } from '../../policy/model.ts'
import type { Context } from '../context.ts'
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
  { io }: Pick<Context, 'io'>,
  write: (text: string) => void,
): Promise<Answer> {
  const { seed, maxNewTokens, ...distribution } = sampling
  const stream = createTextStream(model, write)
  const room = model.spec.contextLength - prompt.length
  const stop = new AbortController()
  const off = io.onSignal(() => stop.abort())
  try {
    const [sample] = await engine.generate(
      {
        ...distribution,
        samples: [{ prompt, seed, drawn }],
        maxNewTokens: Math.max(1, Math.min(maxNewTokens, room)),
        stopTokens: model.tokenizer.stopTokens,
      },
      { signal: stop.signal, onToken: ({ token }) => stream.push(token) },
    )
    return { text: stream.end(sample!.tokens), sample: sample! }
  } finally {
    off()
  }
}
