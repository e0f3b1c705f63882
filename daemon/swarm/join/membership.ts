// The swarm that this home belongs to if the config does not say: what an invite contained, or the key that was created
// for a private swarm. One small file that only its owner can read and that is replaced atomically. Leaving the swarm
// removes it.

import { randomUUID } from 'node:crypto'
import { mkdir, open, readFile, rename, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { WaggleError } from '../../../protocol/errors.ts'
import { STUN_SERVER, SWARM_NAME } from '../../../protocol/wire/index.ts'
import { isOpenToOthers } from '../../platform/index.ts'

export interface Membership {
  swarm: string
  /** Pre-shared key of a private swarm: 32 bytes. */
  psk?: Uint8Array
  /** `host:port` of STUN servers that the invite named. */
  stun: string[]
}

const VERSION = 1
const MAX_FILE_BYTES = 8192

/** Undefined if there is no file. Throws E_CONFIG if it cannot be used. */
export async function loadMembership(path: string): Promise<Membership | undefined> {
  let text: string
  try {
    const { mode, size } = await stat(path)
    if (size > MAX_FILE_BYTES) throw unusable(path, 'it is damaged')
    if (isOpenToOthers(mode))
      throw unusable(path, 'other users can read or change it', `Run: chmod 600 ${path}`)
    text = await readFile(path, 'utf8')
  } catch (cause) {
    if (cause instanceof WaggleError) throw cause
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw unusable(path, (cause as Error).message)
  }
  try {
    const { v, swarm, key, stun } = JSON.parse(text)
    if (v !== VERSION || typeof swarm !== 'string' || !SWARM_NAME.test(swarm)) throw new Error('swarm')
    if (key !== undefined && !(typeof key === 'string' && /^[0-9a-f]{64}$/.test(key))) throw new Error('key')
    if (!Array.isArray(stun) || !stun.every((one) => typeof one === 'string' && STUN_SERVER.test(one)))
      throw new Error('stun')
    return { swarm, stun, ...(key && { psk: Uint8Array.from(Buffer.from(key, 'hex')) }) }
  } catch {
    throw unusable(path, 'it is damaged')
  }
}

export async function saveMembership(path: string, { swarm, psk, stun }: Membership): Promise<void> {
  const partial = `${path}.${randomUUID()}.partial`
  const content = JSON.stringify({
    v: VERSION,
    swarm,
    ...(psk && { key: Buffer.from(psk).toString('hex') }),
    stun,
  })
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    const file = await open(partial, 'wx', 0o600)
    try {
      await file.writeFile(`${content}\n`)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(partial, path)
  } catch (cause) {
    await rm(partial, { force: true }).catch(() => {})
    throw new WaggleError(
      'E_HOME',
      `the swarm’s key cannot be kept in ${path}: ${(cause as Error).message}`,
      {
        hint: 'Check that the folder can be written and the disk is not full.',
        cause,
      },
    )
  }
}

export async function removeMembership(path: string): Promise<void> {
  await rm(path, { force: true })
}

function unusable(path: string, why: string, hint?: string): WaggleError {
  return new WaggleError('E_CONFIG', `the swarm’s file ${path} cannot be used: ${why}`, {
    hint: hint ?? 'Move it away and join again with an invite.',
    data: { path },
  })
}
