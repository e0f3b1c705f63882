// The tabs, in the order of their numbers.

import { logs } from './logs.ts'
import { overview } from './overview.ts'
import { plugins } from './plugins.ts'
import { rollouts } from './rollouts.ts'
import { swarm } from './swarm.ts'
import type { Tab } from './tab.ts'
import { training } from './training.ts'

export const TABS: readonly Tab[] = [overview, swarm, rollouts, training, plugins, logs]
