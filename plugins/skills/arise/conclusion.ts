// Makes a skill from a prompt's right answers (ARISE, arXiv 2603.16060): the policy writes it, and it is parsed
// strictly and tried at once.

import type { Context } from '../../../protocol/plugin/index.ts'
import { type Group, isRight, promptKey } from '../../../protocol/train/index.ts'
import { askOnce, fittedPrompt, SOLVED } from '../library/asking.ts'
import type { Entry } from '../library/entry.ts'
import type { Library } from '../library/library.ts'
import { areAlike } from '../library/similarity.ts'
import type { Tally } from '../library/tally.ts'
import { cleanText } from '../library/text.ts'
import { documentIn, EXAMPLE, fallbackDocument, skillText } from './document.ts'
import { tryText } from './trial.ts'

/** True if some but not all rollouts were right, and the group is not tainted by a worked solution. */
export function canTeach({ rollouts, tainted }: Group): boolean {
  return !tainted && rollouts.some(isRight) && !rollouts.every(isRight)
}

export async function conclude(
  group: Group,
  { library, tally }: { library: Library; tally: Tally },
  context: Context,
): Promise<Entry | undefined> {
  const question = context.question(group.prompt)
  const traces = group.rollouts.filter(isRight).slice(0, 2)
  const request = fittedPrompt(
    (longest) => {
      const shown = traces.map(({ text }) => cleanText(text, { limit: longest, lines: true }))
      return `${question}\n\n${shown.map((text) => `Right answer:\n${text}`).join('\n\n')}\n\n${ASK}`
    },
    { longest: 400, answer: SAMPLING.maxNewTokens / 2, examples: EXAMPLES },
    context,
  )
  const written = await askOnce(request ? [request] : [], SAMPLING, context)
  if (!written) return undefined
  const said = documentIn(written[0]?.text ?? '')
  // A small model may repeat the example.
  const own = said !== undefined && areAlike(said, EXAMPLE) ? undefined : said
  if (written.length > 0) tally.count(own !== undefined)
  const text = own ?? fallbackDocument(traces[0]!.text, group.prompt.task)
  if (text === undefined || context.leaks(group.prompt, text)) return undefined
  const from = promptKey(group.prompt)
  const entry = library.admit({ text, zone: 'cache', score: 0, from, author: 'self', step: context.step })
  if (!entry || library.find(entry.id)) return undefined
  const level = await tryText(skillText(entry.text), group, context)
  return level === undefined ? undefined : { ...entry, score: level }
}

const SAMPLING = { temperature: 0.7, topP: 0.95, maxNewTokens: 192 }
const ASK = `Write what helps with problems like this as one JSON object, without the answer:
{"skill_name": "snake_case", "problem_type": "general", "key_insight": "...", "method": ["...", "..."], "check": "..."}`
const EXAMPLES = [
  {
    question: `${SOLVED}\n\nRight answer:\n24 + 24 = 48\n<answer>48</answer>\n\n${ASK}`,
    answer: EXAMPLE,
  },
]
