// One rollout while it is written: what the sampler is shown, what it drew so far, and, in an episode, how far that is.
// An answer to a task without turns is an episode of one turn.

import { beginPlay, type Play, playOn, type Task } from '../../protocol/plugin/index.ts'
import type { Finish, Instance, PromptCoordinates, Segment } from '../../protocol/train/index.ts'
import type { Sample, SampleRequest } from '../engine/engine.ts'
import type { Composed } from '../host/contract.ts'
import type { Tokenizer } from '../policy/tokenizer.ts'

/** A prompt under one conditioning, to be answered so many times. */
export interface Order {
  prompt: PromptCoordinates
  rollouts: number
  task: Task
  instance: Instance
  conditioning: Int32Array
  /** What plugins put around the question; undefined where nothing. */
  composed?: Composed | undefined
}

export interface Sequence {
  readonly order: Order
  /** Of its sampling. */
  readonly seed: number
  tokens: number[]
  logprobs: number[]
  entropies: number[]
  /** 0 at tokens of an environment. */
  mask: number[]
  segments: Segment[]
  /** Where the answer begins that is being written. */
  answerStart: number
  /** Where earlier answers are. */
  places: { start: number; length: number }[]
  play?: Play | undefined
  /** Set when it has ended. */
  finish?: Finish | undefined
  /** What plugins made of it after its first turn. */
  arm?: string | undefined
  tainted: boolean
  /** Tokens drawn in this round. */
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
    segments: [],
    answerStart: 0,
    places: [],
    ...(environment ? { play: beginPlay(environment, order.instance) } : {}),
    tainted: order.composed?.tainted ?? false,
    fresh: 0,
  }
}

/** What the engine is asked to go on with. `room`: tokens that it may still have; `most`: the call's limit. */
export function sampleOf(sequence: Sequence, room: number, most: number): SampleRequest {
  const { order, tokens, answerStart, places, seed } = sequence
  const drawn = tokens.length - answerStart
  return {
    prompt: tokens.length === 0 ? order.conditioning : Int32Array.from([...order.conditioning, ...tokens]),
    // Each turn has random numbers of its own.
    seed: (seed ^ Math.imul(places.length, 0x9e3779b1)) >>> 0,
    ...(drawn > 0 ? { drawn } : {}),
    // One that has no room at all is the engine's to refuse.
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
  // Weights may have been taken on while it was written.
  const whole = [{ version, length: tokens.length }]
  for (const { version: of, length } of written.segments ?? whole) cover(sequence, of, length)
}

/** What the environment shows, as tokens that nobody learns to write. */
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

/** The next so many tokens that no segment has yet belong to this version. */
function cover({ segments }: Sequence, version: number, length: number): void {
  const last = segments.at(-1)
  const start = last ? last.start + last.length : 0
  if (length === 0) return
  if (last?.version === version) last.length += length
  else segments.push({ version, start, length })
}

/**
 * The answer has ended, by itself or because it has to: gives it to the environment. True if another turn follows, for
 * which the environment's words must be appended.
 */
export function endAnswer(sequence: Sequence, finish: Finish, tokenizer: Tokenizer): boolean {
  const { order, tokens, answerStart, play } = sequence
  const { environment } = order.task
  if (!environment || !play) {
    sequence.finish = finish
    return false
  }
  if (tokens.length === answerStart) {
    // Cut before it said anything: it ended with its last answer.
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
