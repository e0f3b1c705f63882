// Opens the database of peers. Damage is reported but does not prevent the node from starting: see
// store/database/level-folder.ts.

import { remove, writeFileWhole } from '../../store/atomic.ts'
import { openLevelFolder } from '../../store/database/level-folder.ts'
import type { Log } from '../../store/log.ts'
import { nodeDisk as disk } from '../../store/node-disk.ts'
import { openPeerDatastore, type PeerDatastore } from '../../swarm/index.ts'

/** Free space to check for: more than LevelDB writes when it opens. */
const ROOM_BYTES = 6 << 20

export async function openPeerStore(
  { path }: { path: string },
  { log }: { log: Log },
): Promise<PeerDatastore> {
  const hasRoom = async (): Promise<boolean> => {
    try {
      await writeFileWhole({ path: `${path}.room`, content: new Uint8Array(ROOM_BYTES) }, { disk })
      return true
    } catch {
      return false
    } finally {
      await remove(`${path}.room`, { disk }).catch(() => {})
    }
  }
  const { datastore } = await openLevelFolder(
    {
      directory: path,
      name: `the list of peers (${path})`,
      loss: 'Joined and muted peers and their reputation may be lost: check `waggle peers`.',
    },
    {
      async open(onWritten) {
        const datastore = await openPeerDatastore({ path }, { hasRoom, onWritten })
        return {
          datastore,
          close: () => datastore.close(),
          async readAll() {
            for await (const _ of datastore.query({}));
          },
        }
      },
      log,
    },
  )
  return datastore
}
