// The built-in selectors. `uniform`, the default, and `common` pick prompts; the others weight them for a picker.

import type { Plugin } from '../../protocol/plugin/index.ts'
import common from './common.ts'
import uniform from './uniform.ts'
import vade from './vade.ts'

export const SELECTORS: readonly Plugin[] = [uniform, vade, common]
