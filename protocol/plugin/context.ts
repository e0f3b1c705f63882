// All that a plugin may do to the world. Everything is repeatable for a node's seed, counted against the plugin's
// budget, and works the same on a scripted policy, so that a plugin can be tried on any machine without a model.

import type { Finish, PromptCoordinates, Step, Verdict } from '../train/index.ts'

/** Seeded uniform numbers in [0, 1). */
export type Random = () => number

/** Text around a question. Line breaks are the plugin's: nothing is added between. */
export interface Rewrite {
  before?: string
  after?: string
  /** How the group is called: `hint`, `skill`, `reflect`, ... Not `base`. */
  arm: string
  /** True if any of it was made with what `privileged` told. The host checks that it does not give the answer away. */
  tainted: boolean
  level?: number
  /** Library entries that are in it. */
  items?: string[]
}

/** A free prompt, for text that no verifier looks at: a hint, a skill, a critique. */
export interface TextRequest {
  /** `policy` if left out, else a role of the manifest. */
  role?: string
  /** As one user turn. */
  prompt: string
  /** How many texts. */
  n: number
  maxNewTokens?: number
  temperature?: number
  topP?: number
  /** Such as a closing tag; it is kept in the text. */
  stopStrings?: readonly string[]
}

export interface Written {
  text: string
  conditioning: Int32Array
  tokens: Int32Array
  /** Per token, under the distribution that it was drawn from. */
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
 * Per token of the completion, at temperature 1: log-prob in nats, and of the whole distribution its entropy in nats and the
 * sum of its squared probabilities.
 */
export interface Scored {
  logprobs: Float32Array
  entropies: Float32Array
  collisions: Float32Array
  /**
   * Where it was asked for, the state that predicts each token: the final norm's output at the token before it, which the
   * output layer reads. [tokens, width of the model] row by row.
   */
  hidden?: Float32Array
}

export interface ScoreOptions {
  /**
   * Hidden states, too. A call holds tokens x width x 4 bytes of them until it is answered, and nothing but the plugin
   * bounds that: ask for many tokens in portions. 8192 tokens of a model 896 wide are 29 MB.
   */
  hidden?: boolean
}

/** What only the generator of a task knows. */
export interface Privileged {
  key: string
  /** A worked solution, in order. Its last value is the key. */
  steps: Step[]
}

export interface Context {
  /** Optimizer steps so far. */
  step: number
  phase: 'train' | 'eval'
  /** A stream of its own for every name; repeatable for a node's seed. Name it after the step and what it is for. */
  random(stream: string): Random
  log(message: string, data?: Record<string, unknown>): void
  /** Records a number under `plugin.<plugin>.<name>` for this step. */
  metric(name: string, value: number): void
  /**
   * Per request, its texts; empty ones where its prompt leaves no room. Nothing is learnt from them unless `commit` returns
   * them. Throws BudgetError beyond the budget.
   */
  generate(requests: readonly TextRequest[]): Promise<Written[][]>
  score(items: readonly ScoreItem[], options?: ScoreOptions): Promise<Scored[]>
  /** One vector of length 256 and norm 1 a text, from its character n-grams: alike texts, not alike meanings. */
  embed(texts: readonly string[]): Float32Array[]
  /** The question as a node would ask it. */
  question(at: PromptCoordinates): string
  verify(at: PromptCoordinates, completion: string): Verdict
  /** Token ids of a question, with text around it if given, as the sampler would see it. */
  conditioning(at: PromptCoordinates, rewrite?: Pick<Rewrite, 'before' | 'after'>): Int32Array
  countTokens(text: string): number
  /** Token ids of a text alone, as a completion would have them; for `score`. */
  encode(text: string): Int32Array
  /** Most tokens that conditioning and completion may have together, and a completion alone. */
  limits: { context: number; completion: number }
  /** True if the text gives the answer to the prompt away. */
  leaks(at: PromptCoordinates, text: string): boolean
  /** Null in evaluation, for held-out prompts, and for plugins that do not need it by their manifest. */
  privileged(at: PromptCoordinates): Privileged | null
}

/** A plugin asked for more tokens than its manifest allows in a round. */
export class BudgetError extends Error {
  override readonly name = 'BudgetError'
}
