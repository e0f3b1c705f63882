// What changed in a running node's config, as lines for people.

import type { ReconfigureResult } from '../../protocol/api/index.ts'
import { safeText } from '../../protocol/text.ts'

export function reconfiguredText({ changed, restart }: ReconfigureResult): string[] {
  const lines = changed.map(({ path, from, to }) => `${path} is ${shown(to)} now, was ${shown(from)}`)
  if (restart.length > 0) lines.push(`after a restart only: ${restart.join(', ')}`)
  const all = lines.length > 0 ? lines : ['nothing is different']
  return all.map((line) => safeText(line, { limit: 400, line: true }))
}

const shown = (value: unknown): string => (value === undefined ? 'unset' : JSON.stringify(value))
