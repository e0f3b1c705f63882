// HiLL's hinter (arXiv 2604.00698): builds its prompts from one wrong attempt each, samples hints, and checks
// them.

import type { Context, Request, Written } from '../../protocol/plugin/index.ts'
import type { Group } from '../../protocol/train/index.ts'
import { fits } from './groups.ts'
import { hinterPrompt, withoutMiddle } from './prompts.ts'
import { solutionOf } from './worked.ts'
import { inTags } from './written.ts'

export interface Candidate {
  /** The group that is all wrong. */
  base: Group
  written: Written
  /**
   * Missing if the text is not a hint, reveals the answer or is too long: it is never tried, and is
   * penalised.
   */
  request?: Request
}

export interface HintOptions {
  hints: number
  form: 'full' | 'short'
  promptTokens: number
  hinterPromptTokens: number
  maxNewTokens: number
  hinterTemperature: number
}

const END = '</hint>'

export async function writeHints(
  bases: readonly Group[],
  options: HintOptions,
  context: Context,
): Promise<Candidate[]> {
  if (bases.length === 0) return []
  const written = await context.generate(
    bases.map((base) => ({
      role: 'hinter',
      prompt: promptFor(base, options, context),
      n: options.hints,
      maxNewTokens: options.maxNewTokens,
      temperature: options.hinterTemperature,
      stopStrings: [END],
    })),
  )
  return bases.flatMap((base, i) =>
    written[i]!.map((text, m): Candidate => {
      const after = gated(base, text, options, context)
      if (after === undefined) return { base, written: text }
      const rewrite = { after, arm: 'hint', tainted: true }
      const { prompt, rollouts, id } = base
      return {
        base,
        written: text,
        request: { id: `${i}:${m}`, prompt, rollouts: rollouts.length, rewrite, keep: 'train', parent: id },
      }
    }),
  )
}

/** The text after the question: a blank line and the hint, without a label. */
function gated(base: Group, { text }: Written, options: HintOptions, context: Context): string | undefined {
  const hint = inTags(text, 'hint')
  if (hint === undefined || context.leaks(base.prompt, hint)) return undefined
  const after = `\n\n${hint}`
  return fits(base.prompt, after, options.promptTokens, context) ? after : undefined
}

/** Attempt and solution share the space that question and instructions leave. */
function promptFor({ id, prompt, rollouts }: Group, options: HintOptions, context: Context): string {
  const { form, hinterPromptTokens, maxNewTokens } = options
  const random = context.random(`attempt/${context.step}/${id}`)
  const attempt = rollouts[Math.floor(random() * rollouts.length)]!.text
  const question = context.question(prompt)
  const solution = solutionOf(context.privileged(prompt)!)
  const { countTokens, limits } = context
  const frame = countTokens(hinterPrompt(form, { question, solution: '', attempt: '' })) + TURN
  const room = Math.min(hinterPromptTokens, limits.context - maxNewTokens) - frame
  const short = (text: string): string => withoutMiddle(text, Math.max(0, Math.floor(room / 2)), countTokens)
  return hinterPrompt(form, { question, solution: short(solution), attempt: short(attempt) })
}

/** Upper estimate of the tokens that a chat template adds around a turn. */
const TURN = 64
