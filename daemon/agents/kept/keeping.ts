// Makes a conversation of a served call.

import type { Sampling } from '../../engine/engine.ts'
import type { Tokenizer } from '../../policy/tokens/tokenizer.ts'
import type { Call } from '../book/rollout.ts'
import type { CallRequest } from '../writing/attempts.ts'
import type { KeyName } from './conversation.ts'
import type { Conversations } from './conversations.ts'

/** Most characters that are kept of what the user said; the prompt has all of it. */
const MAX_ASKED = 8192

export type Keep = (key: KeyName, request: CallRequest, call: Call) => void

export function keeping(
  { model }: { model: string },
  { conversations, tokenizer }: { conversations: Conversations; tokenizer: Pick<Tokenizer, 'reader'> },
): Keep {
  return (key, { asked, sampling }, { id, at, prompt, promptText, text, sample }) => {
    const { policyLogprobs: _, reused: __, ...drawn } = sample
    conversations.keep({
      ...{ id, key, at, model, prompt, promptText, text },
      asked: (asked ?? textOf(prompt, tokenizer)).slice(0, MAX_ASKED),
      sample: drawn,
      isWhole: sampling === undefined || isWhole(sampling),
    })
  }
}

/** Whether any token can be drawn. */
function isWhole({ temperature, topP, topK, minP }: Sampling): boolean {
  return temperature > 0 && topP === undefined && topK === undefined && !minP
}

/** Without special tokens. */
export function textOf(tokens: Int32Array, tokenizer: Pick<Tokenizer, 'reader'>): string {
  const reader = tokenizer.reader()
  for (const token of tokens) reader.read(token)
  return reader.end()
}
