// waggle version.

import { VERSION } from '../../../../protocol/package.ts'
import type { Context } from '../../contract.ts'

export async function run(context: Context): Promise<number> {
  const node = process.versions.node
  context.out(
    context.json
      ? JSON.stringify({ v: 1, version: VERSION, node })
      : `waggle ${VERSION} (Node.js ${node}, ${process.platform} ${process.arch})`,
  )
  return 0
}
