// Hints of increasing strength for one prompt, as in SAGE (arXiv 2602.03143): the current policy writes all levels
// as one JSON text, and is asked again if the text cannot be parsed. `solution` instead builds the levels from
// the worked solution, for models too small to write hints; that is not in the paper. A level that reveals the
// answer or does not fit is left out; the paper has no such check.

import { z } from 'zod'
import type { Context, Written } from '../../protocol/plugin/index.ts'
import type { PromptCoordinates } from '../../protocol/train/index.ts'
import type { Tally } from '../skills/library/tally.ts'
import { examplesFor, fits, hintLimit, TURN } from './groups.ts'
import { isFromExample, ladderExample, ladderPrompt, withoutMiddle } from './prompts.ts'
import { progressive, solutionOf } from './worked.ts'
import { levelsIn } from './written.ts'

/** Settings of the plugins that show such hints. */
export const ladderSettings = {
  /** L: number of hint levels. */
  levels: z.number().int().min(1).max(8).default(3),
  /** The source of hints: the policy, or the task's worked solution with its end hidden. */
  writer: z.enum(['policy', 'solution']).default('policy'),
  /** Maximum attempts at getting hints from the policy that can be parsed. */
  tries: z.number().int().min(1).max(10).default(3),
  /** Text between question and hint. */
  announce: z.string().max(200).default('\n\nHint: '),
  /** Limits in tokens on the hinted question and the writer's text. The model's own limits also apply. */
  promptTokens: z.number().int().positive().default(4096),
  hintTokens: z.number().int().positive().default(1024),
  hintTemperature: z.number().min(0).default(1),
}

export interface LadderOptions {
  levels: number
  writer: 'policy' | 'solution'
  tries: number
  announce: string
  promptTokens: number
  hintTokens: number
  hintTemperature: number
}

/** The text after the question for each level, level 1 at index 0; undefined if a level is missing. */
export type Ladder = ReadonlyArray<string | undefined>

/** One ladder per prompt; undefined if none could be written. */
export async function writeLadders(
  prompts: readonly PromptCoordinates[],
  options: LadderOptions,
  by: { context: Context; tally: Tally },
): Promise<Array<Ladder | undefined>> {
  const { context } = by
  const texts =
    options.writer === 'policy'
      ? await askPolicy(prompts, options, by)
      : prompts.map((at) => {
          const { steps } = context.privileged(at) ?? { steps: [] }
          return progressive(steps, options.levels, (text) => context.leaks(at, text))
        })
  return prompts.map((at, i) => {
    const ladder = Array.from({ length: options.levels }, (_, level) => {
      const hint = texts[i]?.[level]
      if (hint === undefined || context.leaks(at, hint)) return undefined
      const after = `${options.announce}${hint}`
      return fits(at, after, options.promptTokens, context) ? after : undefined
    })
    return ladder.some((hint) => hint !== undefined) ? ladder : undefined
  })
}

/** The most tokens that the texts for one prompt can take. */
export function writingCost({ writer, tries, hintTokens }: LadderOptions, { limits }: Context): number {
  return writer === 'policy' ? tries * hintLimit(hintTokens, limits) : 0
}

async function askPolicy(
  prompts: readonly PromptCoordinates[],
  options: LadderOptions,
  { context, tally }: { context: Context; tally: Tally },
): Promise<Array<string[] | undefined>> {
  const found: Array<string[] | undefined> = prompts.map(() => undefined)
  for (let attempt = 0; attempt < options.tries; attempt++) {
    const open = prompts.map((_, i) => i).filter((i) => !found[i])
    if (open.length === 0) break
    const asked = open.map((i) => requestFor(prompts[i]!, options, context))
    const written: Written[][] = await context.generate(asked)
    for (const [k, i] of open.entries()) {
      const levels = levelsIn(written[k]![0]?.text ?? '', options.levels)
      if (!levels?.some(isFromExample)) found[i] = levels
      tally.count(found[i] !== undefined)
    }
  }
  tally.report(context)
  return found
}

function requestFor(at: PromptCoordinates, options: LadderOptions, context: Context) {
  const { countTokens, limits } = context
  const question = context.question(at)
  const solution = solutionOf(context.privileged(at)!)
  const maxNewTokens = hintLimit(options.hintTokens, limits)
  const { examples, tokens } = examplesFor(ladderExample(options.levels), context)
  const frame = countTokens(ladderPrompt(options.levels, { question, solution: '' })) + TURN + tokens
  const room = Math.max(0, limits.context - maxNewTokens - frame)
  const prompt = ladderPrompt(options.levels, {
    question,
    solution: withoutMiddle(solution, room, countTokens),
  })
  return { prompt, examples, n: 1, maxNewTokens, temperature: options.hintTemperature }
}
