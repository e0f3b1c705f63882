// Where libp2p and the swarm keep what they know of peers: a level database of its own, apart from the node's store.

import { LevelDatastore } from 'datastore-level'
import type { Datastore } from 'interface-datastore'
import { WaggleError } from '../../protocol/errors.ts'

export async function openPeerDatastore({
  path,
}: {
  path: string
}): Promise<Datastore & { close(): Promise<void> }> {
  const datastore = new LevelDatastore(path)
  try {
    await datastore.open()
  } catch (cause) {
    const locked = /LOCKED|lock/i.test(`${cause} ${(cause as Error).cause}`)
    throw new WaggleError(
      'E_STORE',
      `the list of peers ${path} cannot be opened: ${locked ? 'it is in use' : cause}`,
      {
        hint: locked
          ? 'Another daemon runs on this home; stop it, or use another --home.'
          : 'It holds nothing but peers’ addresses: move it away and start again.',
        data: { path },
        cause,
      },
    )
  }
  return datastore
}
