// Every dialect, by its path.

import type { Tokenizer } from '../../policy/tokens/tokenizer.ts'
import type { Dialect, DialectOptions, DialectParts } from './dialect.ts'
import { createChat } from './openai/chat.ts'
import { createCompletions } from './openai/completions.ts'
import { createGenerate } from './openai/generate.ts'
import { createResponses } from './openai/responses.ts'
import type { ChatPrompts } from './prompts.ts'

interface AllParts extends DialectParts {
  tokenizer: Tokenizer
  prompts: ChatPrompts
}

export function createDialects(options: DialectOptions, parts: AllParts): ReadonlyMap<string, Dialect> {
  return new Map([
    ['/v1/chat/completions', createChat(options, parts)],
    ['/v1/responses', createResponses(options, parts)],
    ['/v1/completions', createCompletions(options, parts)],
    ['/inference/v1/generate', createGenerate(options, parts)],
  ])
}
