// A task's outputs: instances of prompts, and verdicts on answers.

export interface Step {
  /** 1: method; 2: set-up; 3: all intermediate results but the last; 4: all but the final line; 5: the answer. */
  level: 1 | 2 | 3 | 4 | 5
  text: string
  /** The step's result, if it has one. */
  value?: string
  /** True for a remark about the answer that is not a step of the solution. */
  aside?: boolean
}

/**
 * One prompt with its answer key. All of it is a pure function of the task's version, a seed and a difficulty.
 */
export interface Instance {
  question: string
  /** The canonical answer; one of them if the task accepts several. */
  key: string
  /** A worked solution, in order. Its last value is the key. */
  steps: Step[]
  /** What the verifier needs besides the key; plain JSON. */
  data?: unknown
  /** Solved questions that this node shows before this one, oldest first; none if left out. */
  examples?: readonly Example[]
}

/** What the model is asked: a question, preceded by its examples. */
export type Asked = Pick<Instance, 'question' | 'examples'>

/** A question with an answer, shown to the model as an earlier turn. */
export interface Example {
  question: string
  /** In the form in which the model should write it, with answer tags. */
  answer: string
}

export interface Verdict {
  /** 0 to 1; 1 iff right in the strict profile. Only tasks that say so give partial credit, always below 0.5. */
  score: number
  /** Named parts of the score, if the verifier reports them. */
  parts?: Record<string, number>
  /** The extracted answer, at most 256 characters; null if none was found. */
  answer: string | null
  /**
   * Where the answer was found. Reported separately from the score, because the policy learns format and accuracy
   * separately.
   */
  found: 'tag' | 'last-line' | 'none'
}

/** Maximum length of a completion in UTF-16 units; a longer one scores 0. */
export const MAX_COMPLETION_CHARS = 65_536
