// A peer's completion under this node's own tokenizer: its token ids where they are the same tokenizer's and decode to
// the text, else the text encoded anew. Episodes are played again: what the environment showed, whose tokens are whose,
// and what each turn earned are found out here.

import { type Environment, readTranscript, writeTranscript } from '../../protocol/plugin/index.ts'
import type { Instance, Rollout, Segment } from '../../protocol/train/index.ts'
import type { SharedGroup, SharedRollout } from '../../protocol/wire/index.ts'
import type { Reason } from './reasons.ts'
import type { Codec } from './types.ts'

interface Limits {
  codec: Codec
  /** Tokens; longer completions than this node's own are not trained on (G22). */
  most: number
}

/** A token has at least one UTF-8 byte and rarely more than this: no need to encode what must be too long. */
const MOST_BYTES = 16

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
  if (text.length > most * MOST_BYTES) return 'long'
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
  if ((isOurs && tokens.length > most) || text.length > most * MOST_BYTES) return 'long'
  const told = isOurs ? readTranscript(parts, tokens, codec) : writeTranscript(parts, { text, finish }, codec)
  if (told?.text !== text) return isOurs ? 'tokens' : 'text'
  if (told.tokens.length > most) return 'long'
  const { lossMask, turns } = told
  const own = { text, tokens: told.tokens, finish, lossMask, turns }
  if (!isOurs) return { ...own, segments: oldest(segments, policy.version, own.tokens.length) }
  const logprobs = behaviourLogprobs?.map((logprob, i) => (lossMask[i] ? logprob : 0))
  return { ...own, segments, ...(logprobs && { behaviourLogprobs: logprobs }) }
}

/** Tokens that are not the author's own are as old as the oldest of those. */
function oldest(segments: readonly Segment[], version: number, length: number): Segment[] {
  const low = segments.reduce((least, segment) => Math.min(least, segment.version), version)
  return [{ version: low, start: 0, length }]
}
