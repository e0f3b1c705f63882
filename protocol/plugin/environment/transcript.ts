// An episode as tokens: the policy's answers, with the environment's text between them. Each answer but the last
// ends with an end token that the policy sampled. `readTranscript` parses received tokens, which must match what
// the environment and this tokenizer produce for the answers in them; `writeTranscript` works from text alone.

import type { Finish, Instance, Turn } from '../../train/index.ts'
import type { Environment } from '../task.ts'
import { beginPlay, type Play, playOn, replay, transcriptOf } from './environment.ts'

export interface TranscriptCodec {
  readonly stopTokens: readonly number[]
  /** The tokens between an answer's end token and the next answer. */
  encodeReply(observation: string): Int32Array
  encodeCompletion(text: string, finish: Finish): Int32Array
  /** Undefined if the tokens contain anything beyond the text. */
  decodeCompletion(tokens: Int32Array): string | undefined
}

export interface Transcript {
  text: string
  tokens: Int32Array
  /** 0 at the environment's tokens, else 1; shape [tokens]. */
  lossMask: Uint8Array
  turns: Turn[]
  score: number
}

/** Parses an episode from tokens. Undefined if they are not an episode of this instance. */
export function readTranscript(
  { environment, instance }: { environment: Environment; instance: Instance },
  tokens: Int32Array,
  codec: TranscriptCodec,
): Transcript | undefined {
  const stops = new Set(codec.stopTokens)
  let play = beginPlay(environment, instance)
  const spans: Span[] = []
  for (let at = 0; ; ) {
    const end = tokens.findIndex((token, i) => i >= at && stops.has(token))
    const to = end < 0 ? tokens.length : end + 1
    const said = to > at ? codec.decodeCompletion(tokens.subarray(at, to)) : undefined
    if (said === undefined || play.done) return undefined
    spans.push({ start: at, length: to - at })
    play = playOn(environment, play, said)
    if (to === tokens.length) return transcript(play, tokens, spans)
    const reply = codec.encodeReply(play.observation)
    if (reply.some((token, i) => tokens[to + i] !== token)) return undefined
    at = to + reply.length
  }
}

/** Encodes an episode's text. Undefined if it is not a valid episode or the tokenizer cannot encode its answers. */
export function writeTranscript(
  { environment, instance }: { environment: Environment; instance: Instance },
  { text, finish }: { text: string; finish: Finish },
  codec: TranscriptCodec,
): Transcript | undefined {
  const whole = replay(environment, instance, text)
  if (!whole) return undefined
  const tokens: number[] = []
  const spans: Span[] = []
  for (const [i, { answer }] of whole.turns.entries()) {
    if (i > 0) tokens.push(...codec.encodeReply(whole.turns[i]!.observation))
    const isLast = i === whole.turns.length - 1
    const said = codec.encodeCompletion(answer, isLast ? finish : 'stop')
    if (codec.decodeCompletion(said) !== answer || said.length === 0) return undefined
    spans.push({ start: tokens.length, length: said.length })
    tokens.push(...said)
  }
  return transcript(whole, Int32Array.from(tokens), spans)
}

/** A token range within a completion. */
export interface Span {
  start: number
  length: number
}

/** The turns of an episode whose answers are in these places. */
export function turnsOf({ turns }: Play, spans: readonly Span[]): Turn[] {
  return turns.map(({ state, observation, reward }, i) => ({ state, observation, ...spans[i]!, reward }))
}

function transcript(play: Play, tokens: Int32Array, spans: readonly Span[]): Transcript {
  const lossMask = new Uint8Array(tokens.length)
  for (const { start, length } of spans) lossMask.fill(1, start, start + length)
  return { text: transcriptOf(play), tokens, lossMask, turns: turnsOf(play, spans), score: play.score }
}
