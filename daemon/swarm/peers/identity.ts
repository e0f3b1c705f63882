// A node's identity: an Ed25519 key in a file that only its owner can read (PKCS#8 PEM, as `openssl genpkey -algorithm
// ed25519` writes it). Created atomically once and never replaced: with another key the node would be another peer, so
// an unreadable file is an error and no reason to make a new key. Almost any 32 bytes are a valid key, so the peer ID
// is kept in a file beside it; otherwise a damaged key would silently change the identity.

import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomUUID,
  sign,
} from 'node:crypto'
import { link, mkdir, open, readFile, rename, stat, unlink, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { WaggleError } from '../../../protocol/errors.ts'
import { peerIdOf, type Signer } from '../../../protocol/wire/index.ts'
import { isOpenToOthers, syncFolder } from '../../platform/index.ts'

export interface Identity {
  peerId: string
  signer: Signer
  /** An opaque object, so that the key cannot get into logs. */
  key: KeyObject
  /** True if this call created it. */
  created: boolean
}

/** Longer than any Ed25519 PEM (119 bytes); a larger file is something else. */
const MAX_FILE_BYTES = 4096

export async function loadIdentity({ path }: { path: string }): Promise<Identity> {
  const existing = await read(path)
  if (existing !== undefined) return await checked(parse(existing, path), path)
  const { privateKey } = generateKeyPairSync('ed25519')
  if (await create(path, privateKey.export({ format: 'pem', type: 'pkcs8' }) as string)) {
    const made = identityOf(privateKey)
    await writeId(path, made.peerId)
    return { ...made, created: true }
  }
  // Another process has created the key meanwhile; its key is the identity.
  const others = await read(path)
  if (others === undefined) throw failure(path, 'it was removed while it was being read')
  return { ...parse(others, path), created: false }
}

const idFileOf = (path: string): string => path.replace(/(\.key)?$/, '.id')

/** Checks the identity against the home's ID file. Homes from before that file existed get one. */
async function checked(identity: Omit<Identity, 'created'>, path: string): Promise<Identity> {
  const file = idFileOf(path)
  const known = (await readFile(file, 'utf8').catch(() => '')).trim()
  if (known === '') await writeId(path, identity.peerId)
  else if (known !== identity.peerId)
    throw failure(
      path,
      `it is damaged or belongs to another node: its peer ID is ${identity.peerId}, but this home’s is ${known}`,
      {
        hint: `Restore it from a backup. If you replaced the key on purpose, remove ${file}.`,
      },
    )
  return { ...identity, created: false }
}

/** Writes the ID file. If that fails, the key is simply not checked at the next start. */
async function writeId(path: string, peerId: string): Promise<void> {
  const partial = `${idFileOf(path)}.${randomUUID()}.partial`
  await writeFile(partial, `${peerId}\n`, { mode: 0o600, flush: true })
    .then(() => rename(partial, idFileOf(path)))
    .catch(() => unlink(partial).catch(() => {}))
}

export function identityOf(key: KeyObject): Omit<Identity, 'created'> {
  const publicKey = createPublicKey(key).export({ format: 'der', type: 'spki' }).subarray(-32)
  const signer = { publicKey, sign: (message: Uint8Array) => sign(null, message, key) }
  return { peerId: peerIdOf(publicKey), signer, key }
}

function parse(pem: string, path: string): Omit<Identity, 'created'> {
  let key: KeyObject
  try {
    key = createPrivateKey(pem)
  } catch (cause) {
    throw failure(path, 'it is damaged', { cause })
  }
  if (key.asymmetricKeyType !== 'ed25519')
    throw failure(path, `it holds a key of type ${key.asymmetricKeyType}, not Ed25519`)
  return identityOf(key)
}

async function read(path: string): Promise<string | undefined> {
  try {
    const file = await open(path, 'r')
    try {
      const facts = await file.stat()
      if (!facts.isFile()) throw failure(path, 'it is not a file')
      if (isOpenToOthers(facts.mode))
        throw failure(path, 'other users can read or change it', { hint: `Run: chmod 600 ${path}` })
      if (facts.size > MAX_FILE_BYTES) throw failure(path, 'it is damaged')
      return await file.readFile('utf8')
    } finally {
      await file.close()
    }
  } catch (cause) {
    if (cause instanceof WaggleError) throw cause
    const { code } = cause as NodeJS.ErrnoException
    if (code === 'ENOENT') return undefined
    if (code === 'EISDIR') throw failure(path, 'it is not a file', { cause })
    if (code === 'EACCES' || code === 'EPERM')
      throw failure(path, 'permission denied', {
        cause,
        hint: `Make it yours: sudo chown $(id -un) ${path} && chmod 600 ${path}`,
      })
    throw failure(path, code ?? String(cause), { cause })
  }
}

/** False if a key already exists. If true, the new key survives a power cut. */
async function create(path: string, pem: string): Promise<boolean> {
  const partial = `${path}.${randomUUID()}.partial`
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    const file = await open(partial, 'wx', 0o600)
    try {
      await file.writeFile(pem)
      await file.sync()
    } finally {
      await file.close()
    }
    const made = await publishName(partial, path)
    await unlink(partial).catch(() => {})
    if (made) await syncFolder(dirname(path))
    return made
  } catch (cause) {
    await unlink(partial).catch(() => {})
    const { code } = cause as NodeJS.ErrnoException
    throw new WaggleError('E_IDENTITY', `the identity key ${path} cannot be created: ${code ?? cause}`, {
      cause,
      hint: 'Check that the folder can be written and the disk is not full.',
      data: { path },
    })
  }
}

/** Creating a link fails if the name exists, so if two processes start at once, only one wins. */
async function publishName(partial: string, path: string): Promise<boolean> {
  try {
    await link(partial, path)
    return true
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST') return false
    // Some file systems (exFAT, some network ones) have no hard links.
    if (!['EPERM', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP'].includes(code ?? '')) throw error
  }
  const taken = await stat(path).then(
    () => true,
    () => false,
  )
  if (!taken) await rename(partial, path)
  return !taken
}

function failure(path: string, why: string, { hint, cause }: { hint?: string; cause?: unknown } = {}) {
  return new WaggleError('E_IDENTITY', `the identity key ${path} cannot be used: ${why}`, {
    hint:
      hint ??
      'Restore it from a backup. Or move it away: the next start creates a new key, and the node becomes another peer.',
    data: { path },
    cause,
  })
}
