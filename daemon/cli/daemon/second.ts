// Reports a running daemon early and in detail. What actually prevents a second one is the lock of the home.

import type { Health } from '../../../protocol/api/index.ts'
import { WaggleError } from '../../../protocol/errors.ts'
import { safeText } from '../../../protocol/text.ts'
import type { Context } from '../contract.ts'

/** Throws E_HOME_LOCKED if a daemon answers for this home. */
export async function refuseSecond({ client, paths, commandLine }: Context): Promise<void> {
  const running: Health | undefined = await client.health().catch(() => undefined)
  if (!running) return
  const { name, pid } = running
  throw new WaggleError(
    'E_HOME_LOCKED',
    `${safeText(name)} (process ${pid}) already runs on ${paths.home ?? paths.state}`,
    {
      hint: `See it with \`${commandLine('status')}\`, stop it with \`${commandLine('stop')}\`, or start another one with --home DIR.`,
    },
  )
}
