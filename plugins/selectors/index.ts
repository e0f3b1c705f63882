// The built-in selectors. The first is the default, and picks; the others give weights to those that pick.

import type { Plugin } from '../../protocol/plugin/index.ts'
import uniform from './uniform.ts'
import vade from './vade.ts'

export const SELECTORS: readonly Plugin[] = [uniform, vade]
