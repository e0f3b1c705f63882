// Encodes a prompt that is text. If it exactly continues an earlier prompt and its answer, the sampled tokens are kept
// and only the rest is encoded. Encoding the answer's text again could give other tokens than those the model wrote,
// and the recorded log-probs would not belong to them.

import type { Tokenizer } from '../../policy/tokens/tokenizer.ts'
import type { Call } from '../book/rollout.ts'

type Encoder = Pick<Tokenizer, 'encode' | 'stopTokens'>

/** `encode` encodes text at the beginning of a prompt. */
export function promptTokens(
  text: string,
  calls: readonly Call[],
  { tokenizer, encode }: { tokenizer: Encoder; encode(text: string): Int32Array },
): Int32Array {
  let best: { length: number; tokens: Int32Array } | undefined
  for (const call of calls) {
    if (call.promptText === undefined) continue
    const length = call.promptText.length + call.text.length
    if (best && best.length >= length) continue
    if (!text.startsWith(call.promptText) || !text.startsWith(call.text, call.promptText.length)) continue
    const rest = tokenizer.encode(text.slice(length))
    const tail = afterAnswer(rest, call, tokenizer)
    if (tail) best = { length, tokens: Int32Array.from([...call.prompt, ...call.sample.tokens, ...tail]) }
  }
  return best?.tokens ?? encode(text)
}

/** What follows the sampled tokens; undefined if the answer ended with a token that the text does not have there. */
function afterAnswer(rest: Int32Array, { sample }: Call, { stopTokens }: Encoder): Int32Array | undefined {
  const last = sample.tokens.at(-1)
  if (last === undefined || !stopTokens.includes(last)) return rest
  return rest[0] === last ? rest.subarray(1) : undefined
}
