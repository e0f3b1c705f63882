// The built-in hint plugins.

import type { Plugin } from '../../protocol/plugin/index.ts'
import hill from './hill.ts'
import sage from './sage.ts'
import scafGrpo from './scaf-grpo.ts'

export const HINTS: readonly Plugin[] = [hill, sage, scafGrpo]
