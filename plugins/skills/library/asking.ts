// Asks the policy for texts, within its context and the plugin's budget. A request may be preceded by solved examples
// as earlier turns, since a model of some hundred million parameters does not follow a format that is only described.

import { BudgetError, type Context, type TextRequest, type Written } from '../../../protocol/plugin/index.ts'
import type { Example } from '../../../protocol/train/index.ts'

/** Tokens reserved for the chat template around a question. */
const MARGIN = 16
/** The question of the solved examples, which is not from any task. */
export const SOLVED = 'Which number comes next: 3, 6, 12, 24?'
/** Shortest useful quote, in characters. */
const SHORTEST = 40

export type Asked = Pick<TextRequest, 'prompt' | 'examples'>

/**
 * The prompt with its quoted texts shortened, by halving, until there is room for an answer of `answer` tokens. If the
 * solved examples do not fit, they are dropped first. Undefined if no length fits.
 */
export function fittedPrompt(
  write: (longest: number) => string,
  { longest, answer, examples = [] }: { longest: number; answer: number; examples?: readonly Example[] },
  { countTokens, limits }: Context,
): Asked | undefined {
  const sizeOf = (text: string): number => countTokens(text) + MARGIN
  for (const shown of examples.length > 0 ? [examples, []] : [[]]) {
    const before = shown.reduce((sum, one) => sum + sizeOf(one.question) + sizeOf(one.answer), 0)
    for (let length = longest; length >= SHORTEST; length = Math.floor(length / 2)) {
      const prompt = write(length)
      if (before + sizeOf(prompt) + answer <= limits.context) return { prompt, examples: shown }
    }
  }
  return undefined
}

/** Generates one text per request. Undefined if the budget is spent; rethrows all other errors. */
export async function askOnce(
  requests: readonly Asked[],
  sampling: Pick<TextRequest, 'maxNewTokens' | 'temperature' | 'topP'>,
  context: Context,
): Promise<Written[] | undefined> {
  if (requests.length === 0) return []
  try {
    const texts = await context.generate(requests.map((request) => ({ ...request, n: 1, ...sampling })))
    return texts.flatMap((of) => of[0] ?? [])
  } catch (error) {
    if (error instanceof BudgetError) return undefined
    throw error
  }
}
