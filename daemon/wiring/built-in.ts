// The built-in plugins and tasks.

import { CONTROL } from '../../plugins/control/index.ts'
import { CORRECTIONS } from '../../plugins/corrections/index.ts'
import { ESTIMATORS } from '../../plugins/estimators/index.ts'
import { EVIDENCE, FIRST, GONE } from '../../plugins/evidence.ts'
import { HINTS } from '../../plugins/hints/index.ts'
import { REPLAY } from '../../plugins/replay/index.ts'
import { SELECTORS } from '../../plugins/selectors/index.ts'
import { SKILLS } from '../../plugins/skills/index.ts'
import type { Plugin } from '../../protocol/plugin/index.ts'

export { TASKS } from '../../plugins/tasks/index.ts'
export { type DatasetFacts, datasetText, type LoadParts, loadTasks } from './datasets.ts'
export { EVIDENCE, FIRST, GONE }
export const PLUGINS: readonly Plugin[] = [
  ...ESTIMATORS,
  ...CORRECTIONS,
  ...SELECTORS,
  ...HINTS,
  ...REPLAY,
  ...SKILLS,
  ...CONTROL,
]
