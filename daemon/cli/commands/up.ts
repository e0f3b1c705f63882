// waggle up: a node in the foreground.

import type { Context } from '../context.ts'
import { runForeground } from '../foreground.ts'

export const run = (context: Context): Promise<number> => runForeground(context)
