// Checks where the node would listen for people and programs: addresses that other machines can reach are meant, and no
// two are the same.

import type { Loaded } from '../../config/load.ts'
import type { Problem } from '../../config/sources.ts'
import { isSamePlace, requireMeant } from '../../http/index.ts'
import { attempt, problemAt } from './problem.ts'

const SECTIONS = ['control', 'serve', 'agents'] as const

export async function listeningProblems({
  config,
  originOf,
}: Pick<Loaded, 'config' | 'originOf'>): Promise<Problem[]> {
  const problems: Problem[] = []
  const before: { section: string; listen: string }[] = []
  for (const section of SECTIONS) {
    const { listen, ...rest } = config[section]
    if (listen === undefined) continue
    const path = [section, 'listen']
    const isPublic = 'public' in rest ? rest.public : undefined
    problems.push(
      ...(await attempt(path, originOf, () => requireMeant(section, { listen, public: isPublic }))),
    )
    const same = before.find((one) => isSamePlace(one.listen, listen))
    if (same)
      problems.push(
        problemAt(
          path,
          `is the address of ${same.section}.listen, too; each needs a port of its own`,
          originOf,
        ),
      )
    before.push({ section, listen })
  }
  return problems
}
