// Asking the policy for texts within what it can read and what a plugin may spend.

import { BudgetError, type Context, type Written } from '../../protocol/plugin/index.ts'

/** For what stands around a question in a conversation. */
const MARGIN = 16
/** A text shorter than this, in characters, says nothing. */
const SHORTEST = 40

/**
 * The prompt with its quoted texts cut to the longest length, halved as often as needed, that leaves room for `answer`
 * tokens; undefined where none does.
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

/** One text a prompt. Undefined where the tokens are spent; anything else that goes wrong is thrown on. */
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
