// waggle up: a node in the foreground, or with --detach in the background.

import type { Context } from '../context.ts'
import { runDetached } from '../detach.ts'
import { runForeground } from '../foreground.ts'

export const run = (context: Context): Promise<number> =>
  context.options.detach === true ? runDetached(context) : runForeground(context)
