// Questions to the model's API that need no answer of the model, by their path.

import type { Tokenizer } from '../../policy/tokens/tokenizer.ts'
import type { Body } from './dialect.ts'
import type { ChatPrompts } from './prompts.ts'

interface QuestionOptions {
  model: string
  /** Most tokens of a conversation. */
  context: number
}

interface QuestionParts {
  tokenizer: Tokenizer
  prompts: ChatPrompts
}

export type Questions = ReadonlyMap<string, (body: Body) => object>

export function createQuestions(_options: QuestionOptions, _parts: QuestionParts): Questions {
  return new Map()
}
