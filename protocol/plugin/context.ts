// Everything that a plugin may do. All of it is reproducible for a node's seed, counted against the plugin's
// budget, and available on a scripted policy, so a plugin can be tried on any machine without a model.

import type { Example, Finish, PromptCoordinates, Step, Verdict } from '../train/index.ts'

/** Seeded uniform numbers in [0, 1). */
export type Random = () => number

/** Text around a question. Nothing is added in between: line breaks are up to the plugin. */
export interface Rewrite {
  before?: string
  after?: string
  /** The group's arm: `hint`, `skill`, `reflect`, ... Not `base`. */
  arm: string
  /** True if it was made using `privileged`. The node then checks that it does not reveal the answer. */
  tainted: boolean
  level?: number
  /** The library entries that it contains. */
  items?: string[]
}

/** A free prompt, for text that is not verified: a hint, a skill, a critique. */
export interface TextRequest {
  /** A role of the manifest; default `policy`. */
  role?: string
  /** Sent as one user turn. */
  prompt: string
  /** Earlier turns, oldest first: they show a small model the form that it is to write in. */
  examples?: readonly Example[]
  /** How many texts. */
  n: number
  maxNewTokens?: number
  temperature?: number
  topP?: number
  /** Such as a closing tag; it stays in the text. */
  stopStrings?: readonly string[]
}

export interface Written {
  text: string
  conditioning: Int32Array
  tokens: Int32Array
  /** Per token, under the distribution it was sampled from. */
  logprobs: Float32Array
  finish: Finish
  version: number
}

export interface ScoreItem {
  /** `policy` if left out. */
  role?: string
  conditioning: Int32Array
  completion: Int32Array
}

/**
 * Per token of the completion, at temperature 1: the log-prob in nats, the entropy of the distribution in
 * nats, and the sum of its squared probabilities.
 */
export interface Scored {
  logprobs: Float32Array
  entropies: Float32Array
  collisions: Float32Array
  /**
   * If requested, the state that predicts each token: the final norm's output at the previous token, which
   * the output layer reads. Shape [tokens, width of the model], row by row.
   */
  hidden?: Float32Array
}

export interface ScoreOptions {
  /**
   * Also return hidden states. A call keeps tokens x width x 4 bytes of them in memory, with no other limit:
   * split large requests. 8192 tokens of a model of width 896 take 29 MB.
   */
  hidden?: boolean
}

/** What only a task's generator knows. */
export interface Privileged {
  key: string
  /** A worked solution, in order. The last value is the answer key. */
  steps: Step[]
}

export interface Context {
  /** Optimizer steps so far. */
  step: number
  phase: 'train' | 'eval'
  /** A separate, reproducible stream per name. Name it after the step and its purpose. */
  random(stream: string): Random
  log(message: string, data?: Record<string, unknown>): void
  /** Records a number under `plugin.<plugin>.<name>` for this step. */
  metric(name: string, value: number): void
  /**
   * The texts of each request; empty ones if its prompt leaves no room. They are not trained on unless
   * `commit` returns them. Throws BudgetError beyond the budget.
   */
  generate(requests: readonly TextRequest[]): Promise<Written[][]>
  score(items: readonly ScoreItem[], options?: ScoreOptions): Promise<Scored[]>
  /** One vector per text, of length 256 and norm 1, from character n-grams: similar texts, not meanings. */
  embed(texts: readonly string[]): Float32Array[]
  /** The question as a node asks it, and the solved examples that it puts before it. */
  question(at: PromptCoordinates): string
  examples(at: PromptCoordinates): readonly Example[]
  verify(at: PromptCoordinates, completion: string): Verdict
  /** Token ids of a question, with text around it if given, as the sampler sees it. */
  conditioning(at: PromptCoordinates, rewrite?: Pick<Rewrite, 'before' | 'after'>): Int32Array
  countTokens(text: string): number
  /** Token ids of a text by itself, as in a completion; for `score`. */
  encode(text: string): Int32Array
  /** Most tokens of conditioning and completion together, and of a completion. */
  limits: { context: number; completion: number }
  /** True if the text reveals the answer to the prompt. */
  leaks(at: PromptCoordinates, text: string): boolean
  /** Null in evaluation, for held-out prompts, and unless the manifest needs `privileged`. */
  privileged(at: PromptCoordinates): Privileged | null
}

/** The plugin asked for more tokens than its manifest allows per round. */
export class BudgetError extends Error {
  override readonly name = 'BudgetError'
}
