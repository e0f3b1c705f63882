// Where libp2p and the swarm keep their records of peers: a LevelDB database of its own, apart from the node's store.

import { LevelDatastore } from 'datastore-level'
import type { Datastore } from 'interface-datastore'
import { Level } from 'level'
import { WaggleError } from '../../../protocol/errors.ts'

export type PeerDatastore = Datastore & { close(): Promise<void> }

const levelDb = (path: string) =>
  new Level<string, Uint8Array>(path, { keyEncoding: 'utf8', valueEncoding: 'view' })

/** What the swarm itself keeps, bans for one, survives a power cut. libp2p's records are many and can be found again. */
const SYNCED = '/waggle/'

/** `levelOf` opens another database than LevelDB, for simulations. */
export async function openPeerDatastore(
  { path }: { path: string },
  { levelOf = levelDb }: { levelOf?: typeof levelDb } = {},
): Promise<PeerDatastore> {
  // Opened here, because datastore-level does not pass on why opening failed.
  const level = levelOf(path)
  try {
    await level.open()
  } catch (error) {
    const { cause = error } = error as { cause?: Error & { code?: string } }
    const { code, message } = cause as Error & { code?: string }
    const isLocked = code === 'LEVEL_LOCKED'
    throw new WaggleError(
      'E_STORE',
      `the list of peers ${path} cannot be opened: ${isLocked ? 'it is in use' : message}`,
      {
        hint: isLocked
          ? 'Another daemon runs on this home; stop it, or use another --home.'
          : 'Check the permissions of the folder and the room on its disk.',
        data: { path },
        cause,
      },
    )
  }
  const put = level.put.bind(level)
  level.put = ((key: string, value: Uint8Array) =>
    put(key, value, { sync: key.startsWith(SYNCED) } as object)) as typeof level.put
  const datastore = new LevelDatastore(level)
  await datastore.open()
  return datastore
}
