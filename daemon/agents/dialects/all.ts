// Every dialect, by its path, and the questions to an API that the model need not answer.

import type { Tokenizer } from '../../policy/tokens/tokenizer.ts'
import { createCountTokens } from './anthropic/count-tokens.ts'
import { createMessages } from './anthropic/messages.ts'
import { createChat } from './chat.ts'
import { createCompletions } from './completions.ts'
import type { Asker, Body, Dialect, DialectOptions, DialectParts } from './dialect.ts'
import { createGenerate } from './generate.ts'
import { createOllamaChat } from './ollama/chat.ts'
import { createOllamaGenerate } from './ollama/generate.ts'
import { chatLoaded, generateLoaded } from './ollama/load.ts'
import type { ChatPrompts } from './prompts.ts'
import { createResponses } from './responses.ts'

interface AllParts extends DialectParts {
  tokenizer: Tokenizer
  prompts: ChatPrompts
  /** ms since the epoch. */
  now(): number
}

/** The answer without the model; undefined if the model has to be asked after all, by the dialect of the path. */
type Question = (body: Body, asker: Asker) => object | undefined

export interface Dialects {
  dialects: ReadonlyMap<string, Dialect>
  questions: ReadonlyMap<string, Question>
}

const CREATE: Readonly<Record<string, (options: DialectOptions, parts: AllParts) => Dialect>> = {
  '/v1/chat/completions': createChat,
  '/v1/responses': createResponses,
  '/v1/completions': createCompletions,
  '/v1/messages': createMessages,
  '/inference/v1/generate': createGenerate,
  '/api/chat': createOllamaChat,
  '/api/generate': createOllamaGenerate,
}
export const DIALECT_PATHS: readonly string[] = Object.keys(CREATE)

export function createDialects(options: DialectOptions, parts: AllParts): Dialects {
  return {
    dialects: new Map(Object.entries(CREATE).map(([path, create]) => [path, create(options, parts)])),
    questions: new Map<string, Question>([
      ['/v1/messages/count_tokens', createCountTokens(options, parts)],
      ['/api/chat', (body) => chatLoaded(body, { model: options.model, at: parts.now() })],
      ['/api/generate', (body) => generateLoaded(body, { model: options.model, at: parts.now() })],
    ]),
  }
}
