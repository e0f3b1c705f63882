// Hints of rising strength for one prompt, as SAGE (arXiv 2602.03143) has them: one text by the current policy that holds
// all levels as JSON, asked for again if it cannot be read. `solution` builds them from the worked solution instead, for
// models too small to write any; that is not the paper's. A level that gives the answer away, or does not fit, is left
// out; the paper has no such gate.

import { z } from 'zod'
import type { Context, Written } from '../../protocol/plugin/index.ts'
import type { PromptCoordinates } from '../../protocol/train/index.ts'
import { fits } from './groups.ts'
import { ladderPrompt, withoutMiddle } from './prompts.ts'
import { progressive, solutionOf } from './worked.ts'
import { levelsIn } from './written.ts'

/** The settings of whoever shows such hints. */
export const ladderSettings = {
  /** L: strengths of a hint. */
  levels: z.number().int().min(1).max(8).default(3),
  /** Who writes hints: the policy, or the task's worked solution with its end hidden. */
  writer: z.enum(['policy', 'solution']).default('policy'),
  /** Times that the policy is asked until its hints can be read. */
  tries: z.number().int().min(1).max(10).default(3),
  /** What stands between question and hint. */
  announce: z.string().max(200).default('\n\nHint: '),
  /** Longest hinted question and hint writer's text, in tokens; the model's own limits hold as well. */
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

/** By level from 1 on, at index 0, what goes after the question; undefined where a level is missing. */
export type Ladder = ReadonlyArray<string | undefined>

/** Per prompt its ladder; undefined where none could be had. */
export async function writeLadders(
  prompts: readonly PromptCoordinates[],
  options: LadderOptions,
  context: Context,
): Promise<Array<Ladder | undefined>> {
  const texts =
    options.writer === 'policy'
      ? await askPolicy(prompts, options, context)
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

/** Most tokens that the texts for one prompt can come to. */
export function writingCost({ writer, tries, hintTokens }: LadderOptions, { limits }: Context): number {
  return writer === 'policy' ? tries * Math.min(hintTokens, limits.completion) : 0
}

async function askPolicy(
  prompts: readonly PromptCoordinates[],
  options: LadderOptions,
  context: Context,
): Promise<Array<string[] | undefined>> {
  const found: Array<string[] | undefined> = prompts.map(() => undefined)
  for (let attempt = 0; attempt < options.tries; attempt++) {
    const open = prompts.map((_, i) => i).filter((i) => !found[i])
    if (open.length === 0) break
    const asked = open.map((i) => requestFor(prompts[i]!, options, context))
    const written: Written[][] = await context.generate(asked)
    for (const [k, i] of open.entries()) found[i] = levelsIn(written[k]![0]?.text ?? '', options.levels)
  }
  return found
}

function requestFor(at: PromptCoordinates, options: LadderOptions, context: Context) {
  const { countTokens, limits } = context
  const question = context.question(at)
  const solution = solutionOf(context.privileged(at)!)
  const maxNewTokens = Math.min(options.hintTokens, limits.completion)
  const frame = countTokens(ladderPrompt(options.levels, { question, solution: '' })) + TURN
  const room = Math.max(0, limits.context - maxNewTokens - frame)
  const prompt = ladderPrompt(options.levels, {
    question,
    solution: withoutMiddle(solution, room, countTokens),
  })
  return { prompt, n: 1, maxNewTokens, temperature: options.hintTemperature }
}

/** Tokens that a chat template puts around a turn, at most: a guess with room to spare. */
const TURN = 64
