// The built-in selectors. `uniform` (the default), and `gdro_like`.

import type { Plugin } from '../../protocol/plugin/index.ts'
import gdroLike from './gdro-like.ts'
import uniform from './uniform.ts'

export const SELECTORS: readonly Plugin[] = [uniform, gdroLike]
