// A teacher that is another model than the policy: it reads the question in its own form, by its own template. If its
// tokens are others, too, it reads the answer as the same bytes in its own tokens, and what it says is summed by chunk: see
// policy/tokens/chunks.ts. The sums take the teacher's own tokenization of the bytes for the only one. An end of turn of
// the policy is that of the teacher.

import type { Scored, ScoreItem } from '../../../protocol/plugin/index.ts'
import type { Asked, PromptCoordinates } from '../../../protocol/train/index.ts'
import type { OtherModel } from '../../policy/live-policy.ts'
import { type CommonEnd, commonEnds } from '../../policy/tokens/chunks.ts'
import type { Tokenizer } from '../../policy/tokens/tokenizer.ts'
import { conditioningOf } from '../writing/conditioning.ts'

type Model = Pick<OtherModel, 'score'> & { own: NonNullable<OtherModel['own']> }

interface OtherTeacherParts {
  teacher: Model
  tokenizer: Tokenizer
  asked(at: PromptCoordinates): Asked
}

interface Wanted {
  temperature: number
  top: number | undefined
}

/** What it says about each item, which is neither `top` nor `chunks` where it cannot say anything. */
export async function scoreByOther(
  items: readonly ScoreItem[],
  { temperature, top }: Wanted,
  parts: OtherTeacherParts,
): Promise<Scored[]> {
  const { own, score } = parts.teacher
  const read = items.map((item) => readBy(item, parts))
  const asked = read.filter((one) => one !== undefined)
  const { shared } = own
  const said = await score({ sequences: asked, temperature, ...(shared && top && { top }) })
  const by = new Map(asked.map((one, i) => [one, said[i]!]))
  return items.map(({ completion }, i) => {
    const none = new Float32Array(completion.length)
    const nothing = { logprobs: none, entropies: none, collisions: none }
    const one = read[i]
    if (!one) return nothing
    const { logprobs, top: likeliest } = by.get(one)!
    if (one.ends) return { ...nothing, chunks: sums(one.ends, logprobs) }
    // The end of a padded vocabulary is nobody's token.
    const isKnown = likeliest?.tokens.every((token) => token < (shared ?? 0))
    return likeliest && isKnown ? { ...nothing, top: likeliest } : nothing
  })
}

interface Read {
  conditioning: Int32Array
  completion: Int32Array
  /** Of chunks; absent if the teacher's tokens are the policy's. */
  ends?: CommonEnd[]
}

/** The item in the teacher's tokens; undefined if it was not asked as the node asks, is too long, or has no chunk. */
function readBy(
  item: ScoreItem,
  { teacher: { own }, tokenizer, asked }: OtherTeacherParts,
): Read | undefined {
  if (!item.prompt) return undefined
  const question = asked(item.prompt)
  // Text around the question would need to be told, too.
  if (!isSame(item.conditioning, conditioningOf(tokenizer, question))) return undefined
  const conditioning = conditioningOf(own.tokenizer, question)
  const answer = own.shared
    ? { completion: item.completion }
    : inOtherTokens(item.completion, { from: tokenizer, to: own })
  const isLong = conditioning.length + answer.completion.length > own.contextLength
  return isLong || answer.completion.length === 0 ? undefined : { conditioning, ...answer }
}

/** The part of an answer before the first special token, in other tokens, and the end of its turn if it has one. */
export function inOtherTokens(
  completion: Int32Array,
  { from, to }: { from: Tokenizer; to: Pick<Model['own'], 'tokenizer' | 'stop'> },
): { completion: Int32Array; ends: CommonEnd[] } {
  const special = completion.findIndex((token) => from.isSpecial(token))
  const said = special < 0 ? completion : completion.subarray(0, special)
  const reader = from.reader()
  const bytes = Array.from(said, (token) => reader.read(token))
  const others = to.tokenizer.encode(reader.text)
  const otherReader = to.tokenizer.reader()
  const ends = commonEnds(
    bytes,
    Array.from(others, (token) => otherReader.read(token)),
  )
  const last = ends.at(-1) ?? { first: 0, second: 0 }
  const isWhole = last.first === said.length && last.second === others.length
  if (isWhole && special === completion.length - 1 && from.stopTokens.includes(completion[special]!)) {
    ends.push({ first: completion.length, second: others.length + 1 })
    return { completion: Int32Array.from([...others, to.stop]), ends }
  }
  // Where an answer was cut off, a token of the other might not have ended.
  if (special < 0) ends.pop()
  return { completion: others.subarray(0, ends.at(-1)?.second ?? 0), ends }
}

function sums(ends: readonly CommonEnd[], logprobs: Float32Array) {
  const from = [0, ...ends.map(({ second }) => second)]
  return {
    ends: Int32Array.from(ends, ({ first }) => first),
    logprobs: Float32Array.from(ends, ({ second }, i) =>
      logprobs.subarray(from[i], second).reduce((sum, one) => sum + one, 0),
    ),
  }
}

function isSame(a: Int32Array, b: Int32Array): boolean {
  return a.length === b.length && a.every((token, i) => token === b[i])
}
