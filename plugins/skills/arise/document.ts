// A skill document of ARISE (arXiv 2603.16060): one JSON object with a name, the kind of problem, an insight,
// a method of a few steps and a check, each short.
//
// It is parsed strictly: unknown keys, a name that is not snake_case, a wrong kind or too many steps make it
// invalid. The only fallback is built mechanically from a right answer. Documents longer than the cap are
// rejected. The cap is that of the authors' code, whose built-in skills exceed the paper's 220 characters.
// The built-in skills here are ours.

import { z } from 'zod'
import { cleanText, jsonIn } from '../library/text.ts'

export const CHARACTERS = 350
const line = (limit: number) =>
  z
    .string()
    .transform((text) => cleanText(text, { limit: 4096 }))
    .pipe(z.string().min(1).max(limit))

const documentSchema = z.strictObject({
  skill_name: z.string().regex(/^[a-z][a-z0-9_]{0,39}$/),
  problem_type: z.enum(['algebra', 'geometry', 'combinatorics', 'number_theory', 'calculus', 'general']),
  key_insight: line(160),
  method: z.array(line(100)).min(2).max(3),
  check: line(100),
})
type SkillDocument = z.infer<typeof documentSchema>

/** The text before a question. */
export const skillText = (text: string): string => `SKILL: ${text}\n`

/** The document's canonical text; undefined if there is no valid one. */
export function documentIn(text: string): string | undefined {
  const parsed = documentSchema.safeParse(jsonIn(text, '{'))
  return parsed.success ? formOf(parsed.data) : undefined
}

export function nameOf(text: string): string | undefined {
  const parsed = documentSchema.safeParse(jsonIn(text, '{'))
  return parsed.success ? parsed.data.skill_name : undefined
}

/** Built from the steps of a right answer, without the last line, which contains the result. */
export function fallbackDocument(trace: string, task: string): string | undefined {
  const steps = cleanText(trace, { limit: 4096, lines: true }).split('\n').slice(0, -1)
  const snippet = (steps[0] ?? '').slice(0, 90).trim()
  if (snippet === '') return undefined
  return formOf({
    skill_name: `solve_${task}`.replace(/[^a-z0-9_]/g, '_').slice(0, 40),
    problem_type: 'general',
    key_insight: `solve by ${snippet}`,
    method: [snippet, (steps[1] ?? 'go on in the same way').slice(0, 90).trim() || 'go on'],
    check: 'go through each step again',
  })
}

function formOf(document: SkillDocument): string | undefined {
  const { skill_name, problem_type, key_insight, method, check } = document
  const text = JSON.stringify({ skill_name, problem_type, key_insight, method, check })
  return text.length <= CHARACTERS ? text : undefined
}

const seed = (skill_name: string, key_insight: string, method: string[], check: string): string =>
  formOf({ skill_name, problem_type: 'general', key_insight, method, check })!

export const SEEDS: readonly string[] = [
  seed(
    'one_step_at_a_time',
    'a long problem is several short ones',
    ['do one operation', 'write its result down'],
    'count the operations',
  ),
  seed(
    'work_backwards',
    'the answer must fit the question',
    ['put the answer in', 'see whether it fits'],
    'repeat with another answer',
  ),
  seed(
    'restate_the_question',
    'know what is asked before starting',
    ['name what is given', 'name what is asked'],
    'the answer is of that kind',
  ),
  seed(
    'place_by_place',
    'digits go place by place',
    ['line the places up', 'carry over what is too much'],
    'estimate the size',
  ),
  seed(
    'follow_the_rule',
    'examples follow one rule',
    ['find what changes', 'do the same'],
    'the rule fits every example',
  ),
]

/** An example document, shown in the request for one. */
export const EXAMPLE = seed(
  'find_the_pattern',
  'each number is made from the one before',
  ['compare two neighbours', 'do the same to the last number'],
  'the rule gives every number shown',
)
