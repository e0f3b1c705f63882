// This package's own version.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'

export function packageVersion(packageRoot: string): string {
  return (JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8')) as { version: string }).version
}
