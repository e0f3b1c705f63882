// The built-in selectors. `uniform` (the default), `common` and `gdro_like` pick prompts.

import type { Plugin } from '../../protocol/plugin/index.ts'
import common from './common.ts'
import gdroLike from './gdro-like.ts'
import uniform from './uniform.ts'

export const SELECTORS: readonly Plugin[] = [uniform, common, gdroLike]
