// waggle checkpoint: asks the daemon to save a checkpoint. list, diff and restore (model/checkpoints.ts) need no
// daemon.

import { WaggleError } from '../../../../protocol/errors.ts'
import type { Context } from '../../contract.ts'
import { checkpoint as save } from './simple.ts'

export async function run(context: Context): Promise<number> {
  const [what = 'save'] = context.arguments
  if (what === 'save') return await save(context)
  if (context.on !== undefined)
    throw new WaggleError(
      'E_USAGE',
      `checkpoint ${what} works on files of this machine and does not take --on`,
      {
        hint: 'Run it on the machine where the node runs.',
      },
    )
  const { list, diff, restore } = await import('../../model/checkpoints.ts')
  if (what === 'list') return list(context)
  return what === 'diff' ? await diff(context) : await restore(context)
}
