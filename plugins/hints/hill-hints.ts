// HiLL's hinter (arXiv 2604.00698): builds its prompts from one wrong attempt each, samples hints, and checks
// them.

import type { Context, Request, Written } from '../../protocol/plugin/index.ts'
import type { Group } from '../../protocol/train/index.ts'
import type { Tally } from '../skills/library/tally.ts'
import { examplesFor, fits, TURN } from './groups.ts'
import { HINTER_EXAMPLE, hinterPrompt, isFromExample, withoutMiddle } from './prompts.ts'
import { solutionOf } from './worked.ts'
import { inTags } from './written.ts'

export interface Candidate {
  /** The group that is all wrong. */
  base: Group
  written: Written
  /**
   * Missing if the text is not a hint, reveals the answer or is too long. Such a text is not tried, and is penalised.
   */
  request?: Request
}

interface HintOptions {
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
  { context, tally }: { context: Context; tally: Tally },
): Promise<Candidate[]> {
  if (bases.length === 0) return []
  const { examples } = examplesOf(options, context)
  const written = await context.generate(
    bases.map((base) => ({
      role: 'hinter',
      prompt: promptFor(base, options, context),
      examples,
      n: options.hints,
      maxNewTokens: options.maxNewTokens,
      temperature: options.hinterTemperature,
      stopStrings: [END],
    })),
  )
  const candidates = bases.flatMap((base, i) =>
    written[i]!.map((text, m): Candidate => {
      tally.count(hintIn(text) !== undefined)
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
  tally.report(context)
  return candidates
}

/** The short form gets no example: models that use it have been trained on it. */
const examplesOf = ({ form }: HintOptions, context: Context) =>
  examplesFor(form === 'full' ? HINTER_EXAMPLE : [], context)

function hintIn({ text }: Written): string | undefined {
  const hint = inTags(text, 'hint')
  return hint === undefined || isFromExample(hint) ? undefined : hint
}

/** The text after the question: a blank line and the hint, without a label. */
function gated(base: Group, written: Written, options: HintOptions, context: Context): string | undefined {
  const hint = hintIn(written)
  if (hint === undefined || context.leaks(base.prompt, hint)) return undefined
  const after = `\n\n${hint}`
  return fits(base.prompt, after, options.promptTokens, context) ? after : undefined
}

/** Attempt and solution share the room left by question and instructions. */
function promptFor({ id, prompt, rollouts }: Group, options: HintOptions, context: Context): string {
  const { form, hinterPromptTokens, maxNewTokens } = options
  const random = context.random(`attempt/${context.step}/${id}`)
  const attempt = rollouts[Math.floor(random() * rollouts.length)]!.text
  const question = context.question(prompt)
  const solution = solutionOf(context.privileged(prompt)!)
  const { countTokens, limits } = context
  const frame =
    countTokens(hinterPrompt(form, { question, solution: '', attempt: '' })) +
    TURN +
    examplesOf(options, context).tokens
  const room = Math.min(hinterPromptTokens, limits.context - maxNewTokens) - frame
  const short = (text: string): string => withoutMiddle(text, Math.max(0, Math.floor(room / 2)), countTokens)
  return hinterPrompt(form, { question, solution: short(solution), attempt: short(attempt) })
}
