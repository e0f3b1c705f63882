// The requests of Training-Free GRPO (arXiv 2510.08191) to the policy: summarise rollouts, turn the criticism of a
// group into edits of the list, and merge all edits into one plan. The wording is ours; quoted texts are shortened
// until a prompt fits. Each request is preceded by a solved criticism as an earlier turn, so that small models see
// the form of edits.

import type { Context } from '../../../protocol/plugin/index.ts'
import { type Group, isRight } from '../../../protocol/train/index.ts'
import { askOnce, fittedPrompt, SOLVED } from '../library/asking.ts'
import { areAlike } from '../library/similarity.ts'
import { cleanText } from '../library/text.ts'
import { type Edit, editsIn } from './edits.ts'

const TRIES = 3
/** Maximum tokens of a requested text; `ROOM` limits the characters of a quoted one. */
const WRITTEN = 256
const ROOM = { longest: 600, answer: WRITTEN / 2 }
const FORM = `Answer with a JSON list of edits only, each one of
{"operation": "ADD", "content": "when ..., ..."}, {"operation": "UPDATE", "id": "G0", "content": "..."},
{"operation": "DELETE", "id": "G0"}, {"operation": "NONE"}. At most 32 words each, and no answers.`

const criticismOf = (question: string, contrast: readonly string[], shown: string): string =>
  `${question}\n\n${contrast.join('\n\n')}\n\nExperiences:\n${shown}\n\nWhat did the right ones do that the wrong ones did not? ${FORM}`
const planOf = (shown: string, proposed: readonly Edit[]): string =>
  `Experiences:\n${shown}\n\nProposed edits:\n${JSON.stringify(proposed)}\n\nMake one plan of them, without repetition. ${FORM}`

const LEARNT = 'when numbers grow, compare each one with the one before it'
const EDIT: Edit = { operation: 'ADD', content: LEARNT }
const CRITICISED = [
  {
    question: criticismOf(
      SOLVED,
      ['Right (reward 1):\n<answer>48</answer>', 'Wrong (reward 0):\n<answer>36</answer>'],
      '(none)',
    ),
    answer: JSON.stringify([EDIT]),
  },
]
const PLANNED = [{ question: planOf('(none)', [EDIT, EDIT]), answer: JSON.stringify([EDIT]) }]

export interface Asking {
  /** The current list, with its ids. */
  shown: string
  temperature: number
}

/** Undefined if the request does not fit or the budget is spent. */
export async function propose(
  group: Group,
  { shown, temperature, summaries }: Asking & { summaries: boolean },
  context: Context,
): Promise<Edit[] | 'unreadable' | undefined> {
  const question = context.question(group.prompt)
  const sampling = { temperature, maxNewTokens: WRITTEN }
  const attempts = group.rollouts.map(({ text }) => text)
  const quoted = (text: string, longest: number): string => cleanText(text, { limit: longest, lines: true })
  const asked = attempts.flatMap((text) => {
    const write = (longest: number): string =>
      `${question}\n\n${quoted(text, longest)}\n\nSum this attempt up step by step, briefly.`
    return fittedPrompt(write, ROOM, context) ?? []
  })
  const all = summaries && asked.length === attempts.length ? asked : []
  const summed = (await askOnce(all, sampling, context)) ?? []
  const write = (longest: number): string => {
    const contrast = group.rollouts.map((rollout, i) => {
      const verdict = isRight(rollout) ? 'Right' : 'Wrong'
      const said = quoted(summed[i]?.text || attempts[i]!, longest)
      return `${verdict} (reward ${rollout.taskReward ?? rollout.reward}):\n${said}`
    })
    return criticismOf(question, contrast, shown)
  }
  const prompt = fittedPrompt(write, { ...ROOM, examples: CRITICISED }, context)
  if (prompt === undefined) return undefined
  const text = (await askOnce([prompt], sampling, context))?.[0]?.text
  if (text === undefined) return undefined
  const edits = editsIn(text)
  // A small model may repeat the example.
  const isCopy = (edit: Edit): boolean => 'content' in edit && areAlike(edit.content, LEARNT)
  return !edits || edits.some(isCopy) ? 'unreadable' : edits
}

/** Merges proposed edits into one plan. Undefined if no attempt could be parsed. */
export async function plan(
  proposed: readonly Edit[],
  { shown, temperature }: Asking,
  context: Context,
): Promise<Edit[] | undefined> {
  const prompt = fittedPrompt(() => planOf(shown, proposed), { ...ROOM, examples: PLANNED }, context)
  const sampling = { temperature, maxNewTokens: WRITTEN }
  for (let i = 0; i < TRIES && prompt !== undefined; i++) {
    const text = (await askOnce([prompt], sampling, context))?.[0]?.text
    if (text === undefined) return undefined
    const edits = editsIn(text)
    if (edits) return edits
  }
  return undefined
}
