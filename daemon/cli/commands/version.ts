// waggle version.

import type { Context } from '../context.ts'
import { packageVersion } from '../package.ts'

export async function run(context: Context): Promise<number> {
  const version = packageVersion(context.io.packageRoot)
  const node = process.versions.node
  context.out(
    context.json
      ? JSON.stringify({ v: 1, version, node })
      : `waggle ${version} (Node.js ${node}, ${process.platform} ${process.arch})`,
  )
  return 0
}
