// Opens the database of peers. Damage is reported but does not prevent the node from starting: see
// store/database/level-folder.ts.

import { Key } from 'interface-datastore'
import { remove, writeFileWhole } from '../../store/atomic.ts'
import { openLevelFolder } from '../../store/database/level-folder.ts'
import type { Log } from '../../store/log.ts'
import { nodeDisk as disk } from '../../store/node-disk.ts'
import { type Clock, openPeerDatastore, type PeerDatastore } from '../../swarm/index.ts'

const MARK = new Key('/waggle/sealed')
/** As often as the swarm saves its records of peers. */
const SEAL_EVERY_MS = 300_000
/** Free space to check for: more than LevelDB writes when it opens. */
const ROOM_BYTES = 6 << 20

export async function openPeerStore(
  { path }: { path: string },
  { log, clock }: { log: Log; clock: Clock },
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
  const { handle, seal } = await openLevelFolder(
    {
      directory: path,
      name: `the list of peers (${path})`,
      loss: 'Joined and muted peers and their reputation may be lost: check `waggle peers`.',
    },
    {
      async open() {
        const datastore = await openPeerDatastore({ path }, { hasRoom })
        return {
          datastore,
          close: () => datastore.close(),
          async readAll() {
            for await (const _ of datastore.query({}));
          },
          async mark() {
            if (!(await datastore.has(MARK))) return undefined
            return Number(new TextDecoder().decode(await datastore.get(MARK)))
          },
          async setMark(count: number) {
            await datastore.put(MARK, new TextEncoder().encode(String(count)))
          },
        }
      },
      disk,
      log,
    },
  )
  const { datastore } = handle
  const sealQuietly = (): Promise<void> =>
    seal().catch((error) => log('warn', 'the list of peers could not be sealed', { error: String(error) }))
  let cancel = (): void => {}
  const sealAgain = (): void => {
    cancel = clock.after(SEAL_EVERY_MS, () => void sealQuietly().then(sealAgain))
  }
  sealAgain()

  const close = datastore.close.bind(datastore)
  return Object.assign(datastore, {
    async close() {
      cancel()
      await sealQuietly()
      await close()
    },
  })
}
