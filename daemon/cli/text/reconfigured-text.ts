// The changes of a running node's config, as lines of text.

import type { ReconfigureResult } from '../../../protocol/api/index.ts'
import { safeText } from '../../../protocol/text.ts'

export function reconfiguredText({ changed, restart }: ReconfigureResult): string[] {
  const lines = changed.map(({ path, from, to }) => `${path} changed from ${shown(from)} to ${shown(to)}`)
  if (restart.length > 0) lines.push(`needs a restart: ${restart.join(', ')}`)
  const all = lines.length > 0 ? lines : ['nothing changed']
  return all.map((line) => safeText(line, { limit: 400, line: true }))
}

const shown = (value: unknown): string => (value === undefined ? 'unset' : JSON.stringify(value))
