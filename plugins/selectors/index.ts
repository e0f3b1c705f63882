// The built-in selectors. `uniform` (the default), `common` and `gdro_like` pick prompts; `vade_like` weights them for a
// picker.

import type { Plugin } from '../../protocol/plugin/index.ts'
import common from './common.ts'
import gdroLike from './gdro-like.ts'
import uniform from './uniform.ts'
import vadeLike from './vade-like.ts'

export const SELECTORS: readonly Plugin[] = [uniform, vadeLike, common, gdroLike]
