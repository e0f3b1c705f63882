// The tabs, in the order of their numbers.

import { logs } from './logs.tsx'
import { overview } from './overview.tsx'
import { plugins } from './plugins.tsx'
import { rollouts } from './rollouts.tsx'
import { swarm } from './swarm.tsx'
import type { Tab } from './tab.ts'
import { training } from './training.tsx'

export const TABS: readonly Tab[] = [overview, swarm, rollouts, training, plugins, logs]
