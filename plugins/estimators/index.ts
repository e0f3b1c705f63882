// The built-in advantage estimators, in the order in which lists show them. The first is the default.

import type { Plugin } from '../../protocol/plugin/index.ts'
import grpo from './grpo.ts'

export const ESTIMATORS: readonly Plugin[] = [grpo]
