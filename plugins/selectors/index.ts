// The built-in selectors. The first is the default and picks prompts; the others weight them for it.

import type { Plugin } from '../../protocol/plugin/index.ts'
import uniform from './uniform.ts'
import vade from './vade.ts'

export const SELECTORS: readonly Plugin[] = [uniform, vade]
