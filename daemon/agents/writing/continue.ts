// The tokens of a prompt that is text. Where the text continues an earlier prompt and its answer exactly, the prompt
// keeps the tokens that were sampled; only what follows them is encoded. Encoding the answer's text again could give
// other tokens than the model wrote, and the log-probs would belong to none of them.

import type { Tokenizer } from '../../policy/tokens/tokenizer.ts'
import type { Call } from '../book/rollout.ts'

type Encoder = Pick<Tokenizer, 'encode' | 'stopTokens'>

/** `encode` gives the tokens of a text that begins a prompt. */
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
