// Opens a swarm from its files: the records of peers, the membership from an invite, and the key of a private swarm. It
// closes everything that it opened.

import { readFile } from 'node:fs/promises'
import { WaggleError } from '../../protocol/errors.ts'
import type { Swarm, SwarmOptions, SwarmParts } from './contract.ts'
import { openCurrentSwarm } from './join/current-swarm.ts'
import { loadMembership, type Membership, removeMembership, saveMembership } from './join/membership.ts'
import { makePsk, parsePsk } from './join/psk.ts'
import { openPeerDatastore, type PeerDatastore } from './libp2p/datastore.ts'
import { createSwarm } from './swarm.ts'

/** The swarm's name if neither the config nor an invite gives one. */
const OPEN_SWARM = 'waggle'

export interface OpenSwarmOptions extends Omit<SwarmOptions, 'psk' | 'swarm'> {
  /** Folder of the records of peers. */
  peers: string
  /** File of the swarm joined by invite, or of the key that was created here; see membership.ts. */
  membership: string
  /** The swarm's name in the config. Default: the invite's name, else `waggle`. */
  name?: string | undefined
  /** File of a private swarm's key, if the config names one. */
  keyFile?: string | undefined
  /** Create a key if there is none. */
  private?: boolean
  /** An invite, accepted before anything starts. */
  invite?: string | undefined
}

export interface OpenedSwarm {
  swarm: Swarm
  close(): Promise<void>
}

export async function openSwarm(
  {
    peers,
    membership: file,
    name,
    keyFile,
    private: isPrivate = false,
    invite,
    ...options
  }: OpenSwarmOptions,
  {
    openPeers = openPeerDatastore,
    ...parts
  }: Omit<SwarmParts, 'datastore'> & {
    /** Opens the records of peers. node/home/peer-store.ts has a version that repairs damage. */
    openPeers?: (at: { path: string }) => Promise<PeerDatastore>
  },
): Promise<OpenedSwarm> {
  const key =
    keyFile === undefined ? undefined : parsePsk(await readFile(keyFile, 'utf8').catch(unreadableKey))
  const datastore = await openPeers({ path: peers })
  let swarm: Swarm | undefined

  const open = async (membership: Membership | undefined) => {
    if (membership !== undefined && name !== undefined && membership.swarm !== name)
      throw new WaggleError(
        'E_CONFIG',
        `this home belongs to the swarm "${membership.swarm}", and the config says swarm.name = "${name}"`,
        { hint: `Remove swarm.name from the config, or remove ${file} to leave that swarm.` },
      )
    const belongs = membership?.swarm ?? name ?? OPEN_SWARM
    let kept = membership
    if (key === undefined && membership?.psk === undefined && isPrivate) {
      kept = { swarm: belongs, psk: makePsk(), stun: [] }
      await saveMembership(file, kept)
    }
    const psk = key ?? kept?.psk
    const stun = [...(options.stun ?? []), ...(membership?.stun ?? [])]
    const opened = await createSwarm(
      { ...options, stun, swarm: belongs, ...(psk && { psk }) },
      { ...parts, datastore },
    )
    try {
      await opened.start()
    } catch (error) {
      await opened.stop().catch(() => {})
      throw error
    }
    return { swarm: opened, psk, membership: kept }
  }

  try {
    const fixed = { ...(name !== undefined && { name }), key: key !== undefined, private: isPrivate }
    swarm = await openCurrentSwarm(
      { fixed, invite },
      {
        open,
        load: () => loadMembership(file),
        save: (membership) => saveMembership(file, membership),
        remove: () => removeMembership(file),
      },
    )
  } catch (error) {
    await datastore.close()
    throw error
  }
  const opened = swarm
  return {
    swarm: opened,
    async close() {
      await opened.stop()
      await datastore.close()
    },
  }
}

function unreadableKey(cause: Error): never {
  throw new WaggleError('E_CONFIG', `the key of the private swarm cannot be read: ${cause.message}`, {
    hint: 'Check swarm.key_file and the permissions of the file that it names.',
    cause,
  })
}
