// waggle plugins check: checks whether a node could start with the plugins of the config, and lists all problems.

import { WaggleError } from '../../../protocol/errors.ts'
import { safeText } from '../../../protocol/text.ts'
import type { Context } from '../contract.ts'
import { configured } from './configured.ts'

export async function check(context: Context): Promise<number> {
  const { active, problems, notices, file } = await configured(context)
  if (problems.length > 0) {
    throw new WaggleError('E_PLUGIN', problems.map((line) => safeText(line)).join('\n'), {
      hint: `Correct the plugin tables in ${file ?? context.paths.config}, and check again.`,
      data: { problems },
    })
  }
  for (const notice of notices) context.say(`notice: ${safeText(notice)}`)
  const ids = active.map(({ id }) => id)
  if (context.json) context.out(JSON.stringify({ v: 1, ok: true, file: file ?? null, plugins: ids }))
  else context.out(`ok  ${ids.join(', ')}`)
  return 0
}
