// Replaces internals of `@libp2p/noise` to save CPU; the bytes on the wire stay the same. The library copies each large
// message needlessly, writes small ones in two or three system calls, and imports the key again for each message, which
// takes longer than encrypting 3 KB. Receiving 100 MiB takes 0.49 s of CPU instead of 0.62 s (means of nine runs each,
// alternating: node scripts/bench/swarm/bulk.ts 100 /dev/shm). If an upgrade moves what is replaced here, the library's
// own methods are used, and test/swarm/libp2p/encryption.test.ts fails.

import { createCipheriv, createDecipheriv, createSecretKey, type KeyObject } from 'node:crypto'
import { noise } from '@libp2p/noise'
import { Uint8ArrayList } from 'uint8arraylist'

type Bytes = Uint8Array | Uint8ArrayList

/** The cipher functions of `@libp2p/noise` 17. */
interface Crypto {
  encrypt(plain: Bytes, nonce: Uint8Array, ad: Uint8Array, key: Uint8Array): Bytes
  decrypt(cipher: Bytes, nonce: Uint8Array, ad: Uint8Array, key: Uint8Array, into?: Uint8Array): Bytes
}

/** The library's encrypted connection. */
interface Encrypted {
  handshake: { encrypt(plain: Bytes): Bytes; decrypt(cipher: Bytes, into?: Uint8Array): Bytes }
  encrypt(plain: Bytes): Uint8ArrayList
  decrypt(cipher: Bytes): Uint8ArrayList
}

const MAX_MESSAGE = 65_535
/** In bytes. Up to this size, a copy costs less than the system calls that it saves. */
const MAX_WHOLE = 16_384
/** In bytes. From this size on, the library uses node:crypto, which takes chunked buffers; below, it works in place. */
const MIN_NATIVE = 1200
const ALGORITHM = 'chacha20-poly1305'
const TAG_BYTES = 16

export function encryption(): ReturnType<typeof noise> {
  return (components) => {
    const inner = noise()(components)
    const { secureInbound, secureOutbound } = inner
    const known = inner as unknown as { crypto?: Partial<Crypto> }
    const { encrypt, decrypt } = known.crypto ?? {}
    if (encrypt && decrypt) known.crypto = withKeyObjects({ ...known.crypto, encrypt, decrypt })
    return Object.assign(inner, {
      secureInbound: async (...args: Parameters<typeof secureInbound>) =>
        lean(await secureInbound.apply(inner, args)),
      secureOutbound: async (...args: Parameters<typeof secureOutbound>) =>
        lean(await secureOutbound.apply(inner, args)),
    })
  }
}

function lean<Secured extends { connection: unknown }>(secured: Secured): Secured {
  const connection = secured.connection as Encrypted
  if (!isAsExpected(connection)) return secured
  const { handshake } = connection
  const decryptSmall = connection.decrypt.bind(connection)
  connection.decrypt = (cipher) => {
    if (cipher.byteLength < MIN_NATIVE || cipher.byteLength > MAX_MESSAGE) return decryptSmall(cipher)
    return new Uint8ArrayList(handshake.decrypt(cipher))
  }
  const encryptLarge = connection.encrypt.bind(connection)
  connection.encrypt = (plain) => {
    if (plain.byteLength > MAX_WHOLE) return encryptLarge(plain)
    const message = handshake.encrypt(plain)
    const bytes = Buffer.allocUnsafe(2 + message.byteLength)
    bytes.writeUInt16BE(message.byteLength)
    let at = 2
    for (const part of message instanceof Uint8Array ? [message] : message) {
      bytes.set(part, at)
      at += part.byteLength
    }
    return new Uint8ArrayList(bytes)
  }
  return secured
}

/** Encrypts large messages with keys that node:crypto has imported once. */
function withKeyObjects(crypto: Crypto): Crypto {
  const read = new WeakMap<Uint8Array, KeyObject>()
  const keyOf = (bytes: Uint8Array): KeyObject => {
    const key = read.get(bytes) ?? createSecretKey(bytes)
    read.set(bytes, key)
    return key
  }
  const through = (update: (part: Uint8Array) => Uint8Array, bytes: Bytes) => {
    const out = new Uint8ArrayList()
    for (const part of bytes instanceof Uint8Array ? [bytes] : bytes) out.append(update(part))
    return out
  }
  return {
    ...crypto,
    encrypt(plain, nonce, ad, key) {
      if (plain.byteLength < MIN_NATIVE) return crypto.encrypt(plain, nonce, ad, key)
      const cipher = createCipheriv(ALGORITHM, keyOf(key), nonce, { authTagLength: TAG_BYTES })
      cipher.setAAD(ad, { plaintextLength: plain.byteLength })
      const out = through((part) => cipher.update(part), plain)
      cipher.final()
      out.append(cipher.getAuthTag())
      return out
    },
    decrypt(cipher, nonce, ad, key, into) {
      if (cipher.byteLength < MIN_NATIVE) return crypto.decrypt(cipher, nonce, ad, key, into)
      const length = cipher.byteLength - TAG_BYTES
      const decipher = createDecipheriv(ALGORITHM, keyOf(key), nonce, { authTagLength: TAG_BYTES })
      decipher.setAAD(ad, { plaintextLength: length })
      decipher.setAuthTag(cipher.subarray(length))
      const text = cipher instanceof Uint8Array ? cipher.subarray(0, length) : cipher.sublist(0, length)
      const out = through((part) => decipher.update(part), text)
      // Throws if the tag does not match.
      decipher.final()
      return out
    },
  }
}

function isAsExpected(connection: Encrypted): boolean {
  const { handshake, encrypt, decrypt } = connection
  return [handshake?.encrypt, handshake?.decrypt, encrypt, decrypt].every((one) => typeof one === 'function')
}
