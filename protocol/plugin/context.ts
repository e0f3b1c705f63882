// What a plugin can ask the node for. Everything here is reproducible from the node's seed, counts against the
// plugin's budget, and also works on a scripted policy, so a plugin can be tried on any machine without a model.

import type { Example, Finish, PromptCoordinates, Step, Verdict } from '../train/index.ts'
import type { Rewrite } from './rewrite.ts'
import type { ChunkLogprobs, TeacherInfo, TeacherQuestion, TopTokens } from './teacher.ts'

/** Seeded uniform numbers in [0, 1). */
export type Random = () => number

/** A free-form prompt for text that is not verified, such as a hint, a skill or a critique. */
export interface TextRequest {
  /** A role declared in the manifest; default `policy`. */
  role?: string
  /** Sent as one user turn. */
  prompt: string
  /** Earlier turns, oldest first. They show a small model the expected output format. */
  examples?: readonly Example[]
  /** Number of texts to generate. */
  n: number
  maxNewTokens?: number
  temperature?: number
  topP?: number
  /** Generation ends at one of these, such as a closing tag. The stop string stays in the text. */
  stopStrings?: readonly string[]
}

export interface Written {
  text: string
  conditioning: Int32Array
  tokens: Int32Array
  /** Per-token log-probs under the distribution that was sampled from, in nats; shape [tokens]. */
  logprobs: Float32Array
  finish: Finish
  version: number
}

export interface ScoreItem {
  /** Default `policy`. */
  role?: string
  conditioning: Int32Array
  completion: Int32Array
  /** The question that the conditioning asks, for a teacher that is another model. */
  prompt?: PromptCoordinates
}

/**
 * Per token of the completion, at temperature 1: its log-prob in nats, the entropy of the distribution in
 * nats, and the distribution's collision probability (the sum of squared probabilities).
 */
export interface Scored {
  logprobs: Float32Array
  entropies: Float32Array
  collisions: Float32Array
  /**
   * If requested, the hidden state that predicts each token: the final norm's output at the previous position,
   * which the output layer reads. Shape [tokens, model width], row-major.
   */
  hidden?: Float32Array
  /** If requested, the likeliest tokens at each place. */
  top?: TopTokens
  /** Instead of all else, from a teacher with other tokens. */
  chunks?: ChunkLogprobs
}

export interface ScoreOptions {
  /**
   * Also return hidden states. They take tokens x width x 4 bytes of memory, and nothing limits this, so split
   * large requests. For example, 8192 tokens of a model of width 896 take 29 MB.
   */
  hidden?: boolean
  /** Also return so many of the likeliest tokens at each place, at the sampling temperature. */
  top?: number
  /**
   * Who scores, for items of the policy: a name from `teachers`, `checkpoint/<name>`, a model of the manifest or a server's
   * address. Only while a batch is prepared. Default: the policy. Another model gives neither `top` nor `chunks` for an item
   * that does not ask its `prompt` as the node does, or is too long for it.
   */
  teacher?: string
}

/** The reference solution, known only to the task's generator. */
export interface Privileged {
  key: string
  /** A worked solution, in order. The last value is the answer key. */
  steps: Step[]
}

export interface Context {
  /** Optimizer steps so far. */
  step: number
  phase: 'train' | 'eval'
  /** A separate, reproducible random stream for each name. Put the step and the purpose in the name. */
  random(stream: string): Random
  log(message: string, data?: Record<string, unknown>): void
  /** Records a number under `plugin.<plugin>.<name>` for this step. */
  metric(name: string, value: number): void
  /**
   * Generates the texts of each request; they are empty if the prompt leaves no room. They are not trained on
   * unless `commit` returns them. Throws BudgetError if the request exceeds the budget.
   */
  generate(requests: readonly TextRequest[]): Promise<Written[][]>
  score(items: readonly ScoreItem[], options?: ScoreOptions): Promise<Scored[]>
  /** Teachers that can be asked now, besides checkpoints and servers. */
  teachers(): readonly TeacherInfo[]
  /**
   * One answer of a teacher to each question, in its own tokens, by default of the policy itself. They count against the
   * budget; an answer is empty if the prompt leaves no room. Only while a batch is prepared.
   */
  answer(questions: readonly TeacherQuestion[], options?: { teacher?: string }): Promise<Written[]>
  /** One vector per text, of length 256 and norm 1, from character n-grams: it compares wording, not meaning. */
  embed(texts: readonly string[]): Float32Array[]
  /** The question as the node asks it. `examples` are the solved examples that the node puts before it. */
  question(at: PromptCoordinates): string
  examples(at: PromptCoordinates): readonly Example[]
  verify(at: PromptCoordinates, completion: string): Verdict
  /** Token ids of a question, with the rewrite's text around it if given, exactly as the sampler sees them. */
  conditioning(at: PromptCoordinates, rewrite?: Pick<Rewrite, 'before' | 'after'>): Int32Array
  countTokens(text: string): number
  /** Token ids of a bare text, as in a completion; for use with `score`. */
  encode(text: string): Int32Array
  /** Token limits: `context` for conditioning and completion together, `completion` for a completion alone. */
  limits: { context: number; completion: number }
  /** True if the text reveals the answer to the prompt. */
  leaks(at: PromptCoordinates, text: string): boolean
  /** Null in evaluation, for held-out prompts, and unless the manifest needs `privileged`. */
  privileged(at: PromptCoordinates): Privileged | null
}

/** Thrown when a plugin asks for more tokens than its manifest allows per round. */
export class BudgetError extends Error {
  override readonly name = 'BudgetError'
}
