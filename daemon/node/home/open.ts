// Opens a node's home: lock, log file, identity.

import type { Paths } from '../../config/paths.ts'
import { createLogFile } from '../../control/journal/log-file.ts'
import { type Home, openHome } from '../../store/home.ts'
import { nodeDisk as disk } from '../../store/node-disk.ts'
// Not by swarm/index.ts, which loads all of libp2p.
import { type Identity, loadIdentity } from '../../swarm/peers/identity.ts'
import type { Begun } from '../begin.ts'

export async function openNodeHome(
  { paths, pid, host }: { paths: Paths; pid: number; host: string },
  { events, log, closers, now }: Begun & { now(): number },
): Promise<{ home: Home; identity: Identity }> {
  const home = await openHome(
    { directory: paths.state, store: paths.store, lock: paths.lock },
    { disk, clock: now, log, self: { pid, host } },
  )
  closers.add(() => home.release())
  const logFile = createLogFile({ path: paths.logFile }, { events })
  closers.add(() => logFile.close())
  return { home, identity: await loadIdentity({ path: paths.identity }) }
}
