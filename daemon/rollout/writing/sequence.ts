// A rollout that is being written: its conditioning, the tokens drawn so far and, in an episode, the turns played. A
// task without turns has one answer.

import { beginPlay, type Play, playOn, type Span, type Task } from '../../../protocol/plugin/index.ts'
import {
  appendGiven,
  appendWritten,
  beginRow,
  cutRow,
  type Finish,
  type Instance,
  type PromptCoordinates,
  type TokenRow,
} from '../../../protocol/train/index.ts'
import type { Sample, SampleRequest } from '../../engine/engine.ts'
import type { Composed } from '../../host/contract.ts'
import type { Tokenizer } from '../../policy/tokens/tokenizer.ts'

/** A prompt under one conditioning, and the number of rollouts to write for it. */
export interface PromptJob {
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
interface Beginning {
  tokens: readonly number[]
  /** Token ranges of the complete answers, and the start of the answer to be continued; for tasks with turns. */
  spans: readonly Span[]
  answerStart: number
  arm: string
  tainted: boolean
}

export interface Sequence extends TokenRow {
  readonly job: PromptJob
  /** Sampling seed. */
  readonly seed: number
  /** Number of tokens in its prefix. */
  readonly given: number
  /** Index of the first token of the current answer. */
  answerStart: number
  /** Token ranges of earlier answers. */
  spans: Span[]
  play?: Play | undefined
  /** Set once the sequence has ended. */
  finish?: Finish | undefined
  /** Arm of its prefix, or one that plugins set after the first turn. */
  arm?: string | undefined
  tainted: boolean
  /** Number of tokens drawn in this round. */
  fresh: number
}

export function beginSequence(job: PromptJob, seed: number): Sequence {
  const { environment } = job.task
  return {
    ...beginRow(),
    ...{ job, seed },
    given: job.prefix?.tokens.length ?? 0,
    answerStart: 0,
    spans: [],
    ...(environment ? { play: beginPlay(environment, job.instance) } : {}),
    tainted: job.composed?.tainted ?? false,
    fresh: 0,
  }
}

/** Begins a sequence with the order's prefix. Throws if the episode is over before the prefix ends. */
export function continueSequence(job: PromptJob, seed: number, tokenizer: Tokenizer): Sequence {
  const sequence = beginSequence(job, seed)
  const { tokens, spans, answerStart, arm, tainted } = job.prefix!
  replayAnswers(sequence, tokens, spans, tokenizer)
  if (sequence.play?.done) throw new Error('an episode was over before its prefix ended')
  const begun = { ...sequence, ...beginRow(), answerStart, arm, tainted, finish: undefined }
  appendGiven(begun, tokens)
  return begun
}

/** Replays the answers in these token ranges to the environment, whose state is a function of them. */
export function replayAnswers(
  sequence: Sequence,
  tokens: readonly number[],
  spans: readonly Span[],
  tokenizer: Tokenizer,
): void {
  for (const { start, length } of spans) {
    sequence.tokens = tokens.slice(0, start + length)
    sequence.answerStart = start
    endAnswer(sequence, 'stop', tokenizer)
  }
}

/**
 * The request to the sampler to continue this sequence. `room`: tokens that still fit; `most`: limit of the whole call.
 */
export function sampleOf(sequence: Sequence, room: number, most: number): SampleRequest {
  const { job, tokens, answerStart, given, spans, seed } = sequence
  const drawn = tokens.length - Math.max(answerStart, given)
  return {
    prompt: tokens.length === 0 ? job.conditioning : Int32Array.from([...job.conditioning, ...tokens]),
    // Each turn gets its own random numbers.
    seed: (seed ^ Math.imul(spans.length, 0x9e3779b1)) >>> 0,
    ...(drawn > 0 ? { drawn } : {}),
    ...(room < most ? { maxNewTokens: room } : {}),
  }
}

export function append(sequence: Sequence, written: Sample): void {
  appendWritten(sequence, written)
  sequence.fresh += written.tokens.length
}

/** Appends the environment's observation. */
export function appendReply(sequence: Sequence, reply: Int32Array): void {
  appendGiven(sequence, reply)
  sequence.answerStart = sequence.tokens.length
}

/**
 * Ends the current answer and gives it to the environment. If true, another turn follows, and the caller must append
 * the environment's observation.
 */
export function endAnswer(sequence: Sequence, finish: Finish, tokenizer: Tokenizer): boolean {
  const { job, tokens, answerStart, play } = sequence
  const { environment } = job.task
  if (!environment || !play) {
    sequence.finish = finish
    return false
  }
  if (tokens.length === answerStart) {
    // Cut before its first token: the episode ends with the previous answer.
    cutRow(sequence, (sequence.spans.at(-1)?.start ?? 0) + (sequence.spans.at(-1)?.length ?? 0))
    sequence.finish = finish
    return false
  }
  sequence.spans.push({ start: answerStart, length: tokens.length - answerStart })
  sequence.play = playOn(
    environment,
    play,
    tokenizer.decodeCompletion(Int32Array.from(tokens.slice(answerStart))),
  )
  if (finish === 'stop' && !sequence.play.done) return true
  sequence.finish = finish
  return false
}
