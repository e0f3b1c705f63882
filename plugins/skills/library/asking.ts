// Asks the policy for texts, within its context and the plugin's budget.

import { BudgetError, type Context, type Written } from '../../../protocol/plugin/index.ts'

/** Tokens reserved for the chat template around a question. */
const MARGIN = 16
/** Shortest useful quote, in characters. */
const SHORTEST = 40

/**
 * The prompt with its quoted texts shortened, by halving, until there is room for an answer of `answer`
 * tokens; undefined if no length fits.
 */
export function fittedPrompt(
  write: (longest: number) => string,
  { longest, answer }: { longest: number; answer: number },
  { countTokens, limits }: Context,
): string | undefined {
  for (let length = longest; length >= SHORTEST; length = Math.floor(length / 2)) {
    const prompt = write(length)
    if (countTokens(prompt) + MARGIN + answer <= limits.context) return prompt
  }
  return undefined
}

/** One text per prompt. Undefined if the budget is spent; rethrows all other errors. */
export async function askOnce(
  prompts: readonly string[],
  sampling: { maxNewTokens: number; temperature: number; topP?: number },
  context: Context,
): Promise<Written[] | undefined> {
  if (prompts.length === 0) return []
  try {
    const texts = await context.generate(prompts.map((prompt) => ({ prompt, n: 1, ...sampling })))
    return texts.flatMap((of) => of[0] ?? [])
  } catch (error) {
    if (error instanceof BudgetError) return undefined
    throw error
  }
}
