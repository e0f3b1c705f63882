// The prompts for models that write hints, reworded from the papers' descriptions.
//
// `full` follows HiLL (arXiv 2604.00698) and SAGE (arXiv 2602.03143). `short` is for models of a few million
// parameters, which cannot follow instructions: they are trained on its format, or learn it. Texts that are too
// long lose their middle. Each prompt is preceded by a solved example as an earlier turn (`ladderExample`,
// `HINTER_EXAMPLE`), since a model of some hundred million parameters does not follow a format that is only described.

import type { Example } from '../../protocol/train/index.ts'
import { areAlike } from '../skills/library/similarity.ts'

/** What a hint is written from. */
interface Material {
  question: string
  solution: string
  /** The text of a failed rollout. */
  attempt: string
}

export function hinterPrompt(form: 'full' | 'short', { question, solution, attempt }: Material): string {
  if (form === 'short') return `Hint\nQ: ${question}\nA: ${attempt}\nS: ${solution}\n`
  return `You tutor a student who cannot solve the problem below yet. Write a hint for the student's next attempts. A good hint makes some of them right and some of them wrong: if all still fail it was too weak, if all succeed at once it gave too much away.

Problem:
${question}

One of the student's wrong attempts:
${attempt}

Reference solution, which the student never sees:
${solution}

Find the first place where the attempt rests on a misunderstanding. Point to the idea or the strategy that is missing there. Do not tell the answer, do not work out any numbers for the student, and do not put the problem's numbers into a formula.

First write your analysis between <analysis> and </analysis>. Then write the hint, one to three sentences, between <hint> and </hint>.`
}

export function ladderPrompt(levels: number, { question, solution }: Omit<Material, 'attempt'>): string {
  const names = Array.from({ length: levels }, (_, i) => `"level_${i + 1}"`)
  return `You are a tutor. Write ${levels} hints for the question below that get stronger step by step: the first says as little as may help, the last goes into detail, and each builds on the one before. None of them may tell the final answer.

Question:
${question}

Solution, which the student never sees:
${solution}

Answer with one JSON object and nothing else. It has exactly these fields, each a text: ${names.join(', ')}.`
}

const SOLVED: Material = {
  question: 'Which number comes next: 3, 6, 12, 24?',
  solution: '3 + 3 = 6\n6 + 6 = 12\n12 + 12 = 24\n24 + 24 = 48',
  attempt: '<answer>36</answer>',
}
/** Example hints, each saying more than the one before. */
const SOLVED_HINTS = [
  'Compare each number with the one before it.',
  'The differences are not all the same.',
  'Look at what each number is multiplied by.',
  'It is the same factor every time.',
  'Every number is made from the one before it alone.',
  'Adding a number to itself gives the next one.',
  'This was done three times already.',
  'Add the last number to itself.',
]

/** An example ladder with this number of levels. */
export function ladderExample(levels: number): Example[] {
  const hints = SOLVED_HINTS.slice(-levels).map((hint, i) => [`level_${i + 1}`, hint])
  return [{ question: ladderPrompt(levels, SOLVED), answer: JSON.stringify(Object.fromEntries(hints)) }]
}

const SOLVED_HINT =
  'Compare each number with the one before it. Is it a difference that stays the same, or a factor?'

export const HINTER_EXAMPLE: readonly Example[] = [
  {
    question: hinterPrompt('full', SOLVED),
    answer: `<analysis>The attempt adds the first difference again, although the differences grow.</analysis>\n<hint>${SOLVED_HINT}</hint>`,
  },
]

/** True if the hint repeats one of the example's, as small models may do. These are useless for other questions. */
export function isFromExample(hint: string): boolean {
  return [SOLVED_HINT, ...SOLVED_HINTS].some((shown) => areAlike(shown, hint))
}

/** Shortens a text to at most `most` tokens: its beginning and end, with a mark in place of the middle. */
export function withoutMiddle(text: string, most: number, countTokens: (text: string) => number): string {
  if (countTokens(text) <= most) return text
  const keeping = (kept: number): string =>
    `${text.slice(0, Math.ceil(kept / 2))} ... ${text.slice(text.length - Math.floor(kept / 2))}`
  let [low, high] = [0, text.length]
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (countTokens(keeping(middle)) <= most) low = middle
    else high = middle - 1
  }
  return low === 0 ? '' : keeping(low)
}
