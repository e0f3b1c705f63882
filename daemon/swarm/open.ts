// A swarm from its files: the memory of peers, and the key of a private swarm. Opens, and closes what it opened.

import { readFile } from 'node:fs/promises'
import { WaggleError } from '../../protocol/errors.ts'
import type { Swarm, SwarmCollaborators, SwarmOptions } from './contract.ts'
import { openPeerDatastore } from './datastore.ts'
import { parsePsk } from './psk.ts'
import { createSwarm } from './swarm.ts'

export interface OpenSwarmOptions extends Omit<SwarmOptions, 'psk'> {
  /** Folder of the memory of peers. */
  peers: string
  /** File with the key of a private swarm. */
  keyFile?: string | undefined
}

export interface OpenedSwarm {
  swarm: Swarm
  close(): Promise<void>
}

export async function openSwarm(
  { peers, keyFile, ...options }: OpenSwarmOptions,
  by: Omit<SwarmCollaborators, 'datastore'>,
): Promise<OpenedSwarm> {
  const psk =
    keyFile === undefined ? undefined : parsePsk(await readFile(keyFile, 'utf8').catch(unreadableKey))
  const datastore = await openPeerDatastore({ path: peers })
  let swarm: Swarm | undefined
  const close = async (): Promise<void> => {
    await swarm?.stop()
    await datastore.close()
  }
  try {
    swarm = await createSwarm({ ...options, ...(psk ? { psk } : {}) }, { ...by, datastore })
    await swarm.start()
    return { swarm, close }
  } catch (error) {
    await close()
    throw error
  }
}

function unreadableKey(cause: Error): never {
  throw new WaggleError('E_CONFIG', `the key of the private swarm cannot be read: ${cause.message}`, {
    hint: 'Check swarm.key_file and the permissions of the file that it names.',
    cause,
  })
}
