// Loads the verifier that scores answers to kept prompts. They have no answer in a dataset, so it is a file of the owner's.

import { scored } from '../../plugins/tasks/answer.ts'
import { WaggleError } from '../../protocol/errors.ts'
import type { Config } from '../config/schema.ts'
import { messageOf } from './dataset-files.ts'
import { type LoadedVerifier, loadVerifier, type VerifierParts } from './verifier-files.ts'

export type KeptScore = (asked: string, completion: string) => number

/** Undefined if the config names none. Rejects with E_CONFIG. */
export async function loadKeptVerifier(
  { verifier }: Pick<Config['agents'], 'verifier'>,
  { onTrouble = () => {} }: Partial<VerifierParts> = {},
): Promise<KeptScore | undefined> {
  if (verifier === undefined) return undefined
  const { use, ...settings } = typeof verifier === 'string' ? { use: verifier } : verifier
  const refuse = (why: string): never => {
    throw new WaggleError('E_CONFIG', `the verifier ${use} ${why}`, {
      hint: 'agents.verifier is the path of a file, such as ./brief.ts; see docs/datasets.md.',
    })
  }
  if (!/[/\\]/.test(use)) return refuse('is no path, and built-in verifiers need answers of a dataset')
  let loaded: LoadedVerifier
  try {
    loaded = await loadVerifier(use, settings, { onTrouble })
  } catch (error) {
    return refuse(messageOf(error))
  }
  const { judge } = loaded
  const answer = ''
  const problem = loaded.problemWith([{ prompt: 'Hello', answer, judge, difficulty: 0 }])
  if (problem !== undefined) return refuse(problem)
  const { verifier: by, settings: now } = judge
  return (prompt, completion) =>
    scored(completion, ({ text, found }) =>
      by.score({ prompt, answer, completion, text, tagged: found === 'tag' }, now),
    ).score
}
