// One answer of a model, printed while it is sampled. Ctrl-C stops the answer, not the program.

import type { Engine, Sample } from '../../engine/engine.ts'
import type { StoredModel } from '../../policy/model.ts'
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

/** For `--json`. */
export const answerLine = ({ text, sample }: Answer, { seed }: Pick<Asked, 'seed'>): string =>
  JSON.stringify({
    v: 1,
    text,
    finish: sample.finish,
    seed,
    ids: [...sample.tokens],
    logprobs: Array.from(sample.policyLogprobs, (value) => Number(value.toPrecision(9))),
  })

/** Read in one call, so that a long prompt shows how far it is and Ctrl-C need not wait for its end. */
const PIECE_TOKENS = 128

/** `read`: how many tokens at the start of the prompt the engine has seen already, in this conversation. */
export async function answer(
  {
    prompt,
    sampling,
    drawn = 0,
    read = 0,
  }: { prompt: Int32Array; sampling: Asked; drawn?: number; read?: number },
  { model, engine }: OpenedModel<StoredModel>,
  context: Pick<Context, 'io' | 'quiet' | 'say'>,
  write: (text: string) => void,
): Promise<Answer> {
  const { seed, maxNewTokens, ...distribution } = sampling
  const stream = createTextStream(model, write)
  const room = model.spec.contextLength - prompt.length
  const stop = new AbortController()
  const { signal } = stop
  const off = context.io.onSignal(() => stop.abort())
  // The line of progress is cleared before the answer begins.
  const early: number[] = []
  let take = (token: number): void => void early.push(token)
  try {
    const size = { unit: 'tokens', total: prompt.length - read } as const
    const { written } = await withProgress(context, 'read', size, async (at) => {
      await readAhead({ prompt, read }, engine, { signal, onRead: at })
      const started = Promise.withResolvers<void>()
      const written = engine.generate(
        {
          ...distribution,
          samples: [{ prompt, seed, drawn }],
          maxNewTokens: Math.max(1, Math.min(maxNewTokens, room)),
          stopTokens: model.tokenizer.stopTokens,
          isConversation: true,
        },
        {
          signal,
          onToken({ token }) {
            take(token)
            started.resolve()
          },
        },
      )
      await Promise.race([started.promise, written])
      return { written }
    })
    take = (token) => stream.push(token)
    for (const token of early) take(token)
    const [sample] = await written
    return { text: stream.end(sample!.tokens), sample: sample! }
  } finally {
    off()
  }
}

/** Reads a prompt in pieces, but for the last. The engine keeps what it has read for the call that follows. */
async function readAhead(
  { prompt, read }: { prompt: Int32Array; read: number },
  engine: Engine,
  { signal, onRead }: { signal: AbortSignal; onRead: (tokens: number) => void },
): Promise<void> {
  for (let end = read + PIECE_TOKENS; end < prompt.length && !signal.aborted; end += PIECE_TOKENS) {
    const samples = [{ prompt: prompt.subarray(0, end), seed: 0 }]
    const [sample] = await engine.generate(
      { samples, temperature: 0, maxNewTokens: 1, stopTokens: [], isConversation: true },
      { signal },
    )
    onRead(end - read)
    // An engine that keeps nothing would read everything again each time.
    if (end >= 2 * PIECE_TOKENS && !sample!.reused) return
  }
}
