// Converts a peer's completion to this node's tokenizer. If both use the same tokenizer and the token IDs decode to the
// text, the IDs are kept; otherwise the text is encoded again. Episodes are replayed, which gives the observations, the
// loss mask and the reward of each turn.

import {
  type Environment,
  readTranscript,
  replay,
  type Transcript,
  writeTranscript,
} from '../../../protocol/plugin/index.ts'
import type { Finish, Instance, Rollout, Segment } from '../../../protocol/train/index.ts'
import type { SharedGroup, SharedRollout } from '../../../protocol/wire/index.ts'
import type { Codec } from '../types.ts'
import { readText } from './read-text.ts'
import type { Reason } from './reasons.ts'

interface Limits {
  codec: Codec
  /** Maximum length in tokens. Completions longer than this node writes are not trained on. */
  most: number
}

/** Maximum characters per token. Longer texts are refused without being encoded. */
const MAX_CHARS = 16

/** Yields while it encodes a long text. */
export function* underOwnTokenizer(
  { text, finish, segments, tokens, behaviourLogprobs }: SharedRollout,
  { policy }: SharedGroup,
  { codec, most }: Limits,
): Generator<void, Omit<Rollout, 'reward'> | Reason> {
  if (tokens && policy.tokenizer === codec.tokenizer) {
    if (tokens.length > most) return 'long'
    if (codec.decodeCompletion(tokens) !== text) return 'tokens'
    return { text, tokens, finish, segments, ...(behaviourLogprobs && { behaviourLogprobs }) }
  }
  if (text.length > Math.min(most, tokens?.length ?? most) * MAX_CHARS) return 'long'
  const own = yield* readText(text, finish, { codec, most })
  if (typeof own === 'string') return own
  return { text, tokens: own, finish, segments: oldest(segments, policy.version, own.length) }
}

/** Yields while it encodes a long text. */
export function* asEpisode(
  { text, finish, segments, tokens, behaviourLogprobs }: SharedRollout,
  { policy }: SharedGroup,
  parts: { environment: Environment; instance: Instance },
  { codec, most }: Limits,
): Generator<void, Omit<Rollout, 'reward'> | Reason> {
  const isOurs = tokens !== undefined && policy.tokenizer === codec.tokenizer
  if ((isOurs && tokens.length > most) || text.length > most * MAX_CHARS) return 'long'
  let told: Transcript | undefined
  if (isOurs) told = readTranscript(parts, tokens, codec)
  else {
    const answers = new Map<string, Int32Array>()
    const { turns } = replay(parts.environment, parts.instance, text) ?? { turns: [] }
    for (const [i, { answer }] of turns.entries()) {
      const end = i === turns.length - 1 ? finish : 'stop'
      const own = yield* readText(answer, end, { codec, most })
      if (typeof own === 'string') return own
      answers.set(`${end} ${answer}`, own)
    }
    const encodeCompletion = (answer: string, end: Finish): Int32Array => answers.get(`${end} ${answer}`)!
    told = writeTranscript(parts, { text, finish }, { ...codec, encodeCompletion })
  }
  if (told?.text !== text) return isOurs ? 'tokens' : 'text'
  if (told.tokens.length > most) return 'long'
  const { lossMask, turns } = told
  const own = { text, tokens: told.tokens, finish, lossMask, turns }
  if (!isOurs) return { ...own, segments: oldest(segments, policy.version, own.tokens.length) }
  const logprobs = behaviourLogprobs?.map((logprob, i) => (lossMask[i] ? logprob : 0))
  return { ...own, segments, ...(logprobs && { behaviourLogprobs: logprobs }) }
}

/** Re-encoded tokens cannot be matched to segments, so all get the oldest version. */
function oldest(segments: readonly Segment[], version: number, length: number): Segment[] {
  const low = segments.reduce((least, segment) => Math.min(least, segment.version), version)
  return [{ version: low, start: 0, length }]
}
