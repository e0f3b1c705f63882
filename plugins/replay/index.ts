// The built-in replay plugins. None is on unless the config names it.

import type { Plugin } from '../../protocol/plugin/index.ts'
import dots from './dots.ts'
import lessons from './lessons.ts'
import r3Like from './r3-like.ts'

export const REPLAY: readonly Plugin[] = [r3Like, dots, lessons]
