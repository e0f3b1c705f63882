// The built-in selectors. The first is the default.

import type { Plugin } from '../../protocol/plugin/index.ts'
import uniform from './uniform.ts'

export const SELECTORS: readonly Plugin[] = [uniform]
