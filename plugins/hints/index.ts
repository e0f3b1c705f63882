// The built-in hint plugins.

import type { Plugin } from '../../protocol/plugin/index.ts'
import hatch from './hatch.ts'
import hill from './hill.ts'
import sage from './sage.ts'
import sageLight from './sage-light.ts'
import scafGrpo from './scaf-grpo.ts'

export const HINTS: readonly Plugin[] = [hill, sage, sageLight, scafGrpo, hatch]
