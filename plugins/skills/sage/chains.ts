// Chains of two prompts (SAGE, arXiv 2512.17102): only the skills that a rollout of the first prompt writes down
// are passed on to the second.
//
// A skill is `<skill name="...">...</skill>` in a completion. The second completion counts as using it if it
// mentions its name outside such tags.

import { cleanText } from '../library/text.ts'

export interface Skill {
  name: string
  text: string
}

const SKILL = /<skill name="([a-z][a-z0-9_]{2,39})">([^<>]{1,2000})<\/skill>/g
const MAX = 3
const CHARACTERS = 300

/** The first few skills with different names. */
export function skillsIn(completion: string): Skill[] {
  const found = new Map<string, Skill>()
  for (const [, name, text] of completion.slice(0, 65_536).matchAll(SKILL)) {
    const clean = cleanText(text!, { limit: CHARACTERS })
    if (clean !== '' && !found.has(name!) && found.size < MAX) found.set(name!, { name: name!, text: clean })
  }
  return [...found.values()]
}

export function usesOneOf(skills: readonly Skill[], completion: string): boolean {
  const said = new Set(completion.replace(SKILL, ' ').match(/[a-z0-9_]+/gi) ?? [])
  return skills.some(({ name }) => said.has(name))
}

export interface Outcome {
  right: boolean
  /** True if it ended by itself and contains an answer. */
  whole: boolean
}

/** Rewards of both positions. If the second rollout is missing, the first gets only its own. */
export function chainRewards(
  first: Outcome,
  second: (Outcome & { used: boolean }) | undefined,
): [number, number | undefined] {
  const own = ({ right, whole }: Outcome): number => (whole ? Number(right) : -1)
  if (!second) return [own(first), undefined]
  const bonus = Number(second.whole && second.right && second.used)
  return [own(first) + bonus * Number(first.whole && first.right), own(second) + bonus]
}
