// A rollout that is being written: its conditioning, the tokens drawn so far and, in an episode, the turns played. A
// task without turns has one answer.

import { beginPlay, type Play, playOn, type Task } from '../../../protocol/plugin/index.ts'
import type { Finish, Instance, PromptCoordinates, Segment } from '../../../protocol/train/index.ts'
import type { Sample, SampleRequest } from '../../engine/engine.ts'
import type { Composed } from '../../host/contract.ts'
import type { Tokenizer } from '../../policy/tokens/tokenizer.ts'

/** A prompt under one conditioning, and the number of rollouts to write for it. */
export interface Order {
  prompt: PromptCoordinates
  rollouts: number
  task: Task
  instance: Instance
  conditioning: Int32Array
  /** Text that plugins put around the question, if any. */
  composed?: Composed | undefined
  /** The beginning that its rollouts continue. */
  prefix?: Beginning | undefined
}

/** The first tokens of another rollout, with the arm and taint that it passes on. */
export interface Beginning {
  tokens: readonly number[]
  /** Token ranges of the complete answers, and the start of the answer to be continued; for tasks with turns. */
  places: readonly Place[]
  answerStart: number
  arm: string
  tainted: boolean
}

/** A token range within a completion. */
export interface Place {
  start: number
  length: number
}

export interface Sequence {
  readonly order: Order
  /** Sampling seed. */
  readonly seed: number
  tokens: number[]
  logprobs: number[]
  entropies: number[]
  /** Loss mask: 1 for tokens that the policy wrote for this rollout, 0 for those of the environment or its prefix. */
  mask: number[]
  /** Number of tokens in its prefix. */
  readonly given: number
  segments: Segment[]
  /** Index of the first token of the current answer. */
  answerStart: number
  /** Token ranges of earlier answers. */
  places: Place[]
  play?: Play | undefined
  /** Set once the sequence has ended. */
  finish?: Finish | undefined
  /** Arm of its prefix, or one that plugins set after the first turn. */
  arm?: string | undefined
  tainted: boolean
  /** Number of tokens drawn in this round. */
  fresh: number
}

export function beginSequence(order: Order, seed: number): Sequence {
  const { environment } = order.task
  return {
    order,
    seed,
    tokens: [],
    logprobs: [],
    entropies: [],
    mask: [],
    given: order.prefix?.tokens.length ?? 0,
    segments: [],
    answerStart: 0,
    places: [],
    ...(environment ? { play: beginPlay(environment, order.instance) } : {}),
    tainted: order.composed?.tainted ?? false,
    fresh: 0,
  }
}

/** Begins a sequence with the order's prefix. Throws if the episode is over before the prefix ends. */
export function continueSequence(order: Order, seed: number, tokenizer: Tokenizer): Sequence {
  const sequence = beginSequence(order, seed)
  const { tokens, places, answerStart, arm, tainted } = order.prefix!
  replayAnswers(sequence, tokens, places, tokenizer)
  if (sequence.play?.done) throw new Error('an episode was over before its prefix ended')
  const none = Array<number>(tokens.length).fill(0)
  return {
    ...sequence,
    ...{ tokens: [...tokens], logprobs: none, entropies: [...none], mask: [...none] },
    ...{ answerStart, arm, tainted },
    finish: undefined,
  }
}

/** Replays the answers in these token ranges to the environment, whose state is a function of them. */
export function replayAnswers(
  sequence: Sequence,
  tokens: readonly number[],
  places: readonly Place[],
  tokenizer: Tokenizer,
): void {
  for (const { start, length } of places) {
    sequence.tokens = tokens.slice(0, start + length)
    sequence.answerStart = start
    endAnswer(sequence, 'stop', tokenizer)
  }
}

/**
 * The request to the sampler to continue this sequence. `room`: tokens that still fit; `most`: limit of the whole call.
 */
export function sampleOf(sequence: Sequence, room: number, most: number): SampleRequest {
  const { order, tokens, answerStart, given, places, seed } = sequence
  const drawn = tokens.length - Math.max(answerStart, given)
  return {
    prompt: tokens.length === 0 ? order.conditioning : Int32Array.from([...order.conditioning, ...tokens]),
    // Each turn gets its own random numbers.
    seed: (seed ^ Math.imul(places.length, 0x9e3779b1)) >>> 0,
    ...(drawn > 0 ? { drawn } : {}),
    // If there is no room, the sampler refuses the request.
    ...(room >= 1 && room < most ? { maxNewTokens: room } : {}),
  }
}

export function append(sequence: Sequence, written: Sample): void {
  const { tokens, logprobs, entropies, version } = written
  for (const [i, token] of tokens.entries()) {
    sequence.tokens.push(token)
    sequence.logprobs.push(logprobs[i]!)
    sequence.entropies.push(entropies[i]!)
    sequence.mask.push(1)
  }
  sequence.fresh += tokens.length
  // The weights may have changed during generation.
  const whole = [{ version, length: tokens.length }]
  if (sequence.segments.length === 0) cover(sequence, (written.segments ?? whole)[0]!.version, sequence.given)
  for (const { version: of, length } of written.segments ?? whole) cover(sequence, of, length)
}

/** Appends the environment's observation. Its tokens are outside the loss mask. */
export function appendReply(sequence: Sequence, reply: Int32Array): void {
  for (const token of reply) {
    sequence.tokens.push(token)
    sequence.logprobs.push(0)
    sequence.entropies.push(0)
    sequence.mask.push(0)
  }
  cover(sequence, sequence.segments.at(-1)!.version, reply.length)
  sequence.answerStart = sequence.tokens.length
}

/** Assigns the next `length` tokens after the last segment to this version. */
function cover({ segments }: Sequence, version: number, length: number): void {
  const last = segments.at(-1)
  const start = last ? last.start + last.length : 0
  if (length === 0) return
  if (last?.version === version) last.length += length
  else segments.push({ version, start, length })
}

/**
 * Ends the current answer and gives it to the environment. If true, another turn follows, and the caller must append
 * the environment's observation.
 */
export function endAnswer(sequence: Sequence, finish: Finish, tokenizer: Tokenizer): boolean {
  const { order, tokens, answerStart, play } = sequence
  const { environment } = order.task
  if (!environment || !play) {
    sequence.finish = finish
    return false
  }
  if (tokens.length === answerStart) {
    // Cut before its first token: the episode ends with the previous answer.
    truncate(sequence, (sequence.places.at(-1)?.start ?? 0) + (sequence.places.at(-1)?.length ?? 0))
    sequence.finish = finish
    return false
  }
  sequence.places.push({ start: answerStart, length: tokens.length - answerStart })
  sequence.play = playOn(
    environment,
    play,
    tokenizer.decodeCompletion(Int32Array.from(tokens.slice(answerStart))),
  )
  if (finish === 'stop' && !sequence.play.done) return true
  sequence.finish = finish
  return false
}

function truncate(sequence: Sequence, length: number): void {
  for (const name of ['tokens', 'logprobs', 'entropies', 'mask'] as const) sequence[name].length = length
  sequence.segments = sequence.segments
    .filter(({ start }) => start < length)
    .map((one) => ({ ...one, length: Math.min(one.length, length - one.start) }))
}
