// The tabs, in the order of their numbers.

import { overview } from './overview.tsx'
import type { Tab } from './tab.ts'

export const TABS: readonly Tab[] = [overview]
