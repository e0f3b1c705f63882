// What a task generates and returns: instances of prompts, and verdicts on answers.

export interface Step {
  /** 1 method, 2 set-up, 3 all intermediate results but the last, 4 all but the final line, 5 the answer. */
  level: 1 | 2 | 3 | 4 | 5
  text: string
  /** The value that this step arrives at, where it has one. */
  value?: string
  /** True for a remark about the answer that is not a step of the solution. */
  aside?: boolean
}

/**
 * One prompt with its key. Everything in it is a pure function of the task's version, a seed and a
 * difficulty.
 */
export interface Instance {
  question: string
  /** The canonical answer. Tasks with many right answers give one of them. */
  key: string
  /** A worked solution, in order. Its last value is the key. */
  steps: Step[]
  /** What the verifier needs beside the key; plain JSON. */
  data?: unknown
  /** Solved questions that this node shows before this one, oldest first; none if left out. */
  examples?: readonly Example[]
}

/** What the model is asked: a question after its examples. */
export type Asked = Pick<Instance, 'question' | 'examples'>

/** A question with an answer, shown to the model as an earlier turn. */
export interface Example {
  question: string
  /** As the model should write it, in answer tags. */
  answer: string
}

export interface Verdict {
  /** 0 to 1. In the strict profile 1 iff right; partial credit only where the task says so, and below 0.5. */
  score: number
  /** Named parts that the score is made of, if the verifier tells them apart. */
  parts?: Record<string, number>
  /** The extracted answer, at most 256 characters; null if none was found. */
  answer: string | null
  /**
   * Where the answer was found. Reported apart from the score, because the policy learns format and accuracy
   * separately.
   */
  found: 'tag' | 'last-line' | 'none'
}

/** Maximum length of a completion in UTF-16 units; a longer one scores 0. */
export const MAX_COMPLETION_CHARS = 65_536
