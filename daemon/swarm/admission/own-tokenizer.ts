// Expresses a peer's completion in this node's tokenizer. If both use the same tokenizer and the token ids decode to the
// text, the ids are kept; otherwise the text is encoded again. Episodes are replayed, which yields the observations, the
// loss mask and the reward of each turn.

import { type Environment, readTranscript, writeTranscript } from '../../../protocol/plugin/index.ts'
import type { Instance, Rollout, Segment } from '../../../protocol/train/index.ts'
import type { SharedGroup, SharedRollout } from '../../../protocol/wire/index.ts'
import type { Codec } from '../types.ts'
import type { Reason } from './reasons.ts'

interface Limits {
  codec: Codec
  /** Tokens. Completions longer than this node writes are not trained on. */
  most: number
}

/** Hardly any token has more characters, so longer texts are refused without encoding them. */
const MOST_CHARS = 16

export function underOwnTokenizer(
  { text, finish, segments, tokens, behaviourLogprobs }: SharedRollout,
  { policy }: SharedGroup,
  { codec, most }: Limits,
): Omit<Rollout, 'reward'> | Reason {
  if (tokens && policy.tokenizer === codec.tokenizer) {
    if (tokens.length > most) return 'long'
    if (codec.decodeCompletion(tokens) !== text) return 'tokens'
    return { text, tokens, finish, segments, ...(behaviourLogprobs && { behaviourLogprobs }) }
  }
  if (text.length > Math.min(most, tokens?.length ?? most) * MOST_CHARS) return 'long'
  const own = codec.encodeCompletion(text, finish)
  if (codec.decodeCompletion(own) !== text) return 'text'
  if (own.length > most) return 'long'
  return { text, tokens: own, finish, segments: oldest(segments, policy.version, own.length) }
}

export function asEpisode(
  { text, finish, segments, tokens, behaviourLogprobs }: SharedRollout,
  { policy }: SharedGroup,
  parts: { environment: Environment; instance: Instance },
  { codec, most }: Limits,
): Omit<Rollout, 'reward'> | Reason {
  const isOurs = tokens !== undefined && policy.tokenizer === codec.tokenizer
  if ((isOurs && tokens.length > most) || text.length > most * MOST_CHARS) return 'long'
  const told = isOurs ? readTranscript(parts, tokens, codec) : writeTranscript(parts, { text, finish }, codec)
  if (told?.text !== text) return isOurs ? 'tokens' : 'text'
  if (told.tokens.length > most) return 'long'
  const { lossMask, turns } = told
  const own = { text, tokens: told.tokens, finish, lossMask, turns }
  if (!isOurs) return { ...own, segments: oldest(segments, policy.version, own.tokens.length) }
  const logprobs = behaviourLogprobs?.map((logprob, i) => (lossMask[i] ? logprob : 0))
  return { ...own, segments, ...(logprobs && { behaviourLogprobs: logprobs }) }
}

/** Re-encoded tokens cannot be matched to segments, so all get the oldest version among them. */
function oldest(segments: readonly Segment[], version: number, length: number): Segment[] {
  const low = segments.reduce((least, segment) => Math.min(least, segment.version), version)
  return [{ version: low, start: 0, length }]
}
