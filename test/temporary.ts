// All temporary folders of a run of the tests lie in one, which is removed at its end. Its name is short, since the paths
// of sockets may have about a hundred characters.

import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export default function setUp(): () => void {
  const folder = mkdtempSync(join(tmpdir(), 'w-'))
  // Some tests start nodes as another user.
  chmodSync(folder, 0o755)
  process.env.TMPDIR = folder
  return () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
}
