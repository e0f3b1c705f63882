// Noise as libp2p speaks it, at less cost. `@libp2p/noise` copies each large message that spans two reads of the socket,
// only to drop the copy, and hands small ones to the socket in two or three pieces, a system call each. Same bytes on the
// wire. Where an upgrade moves what is replaced here, the library's own methods go on working, and a test says so.

import { noise } from '@libp2p/noise'
import { Uint8ArrayList } from 'uint8arraylist'

type Bytes = Uint8Array | Uint8ArrayList

/** What `@libp2p/noise` 17 makes of a connection. */
interface Encrypted {
  handshake: { encrypt(plain: Bytes): Bytes; decrypt(cipher: Bytes, into?: Uint8Array): Bytes }
  encrypt(plain: Bytes): Uint8ArrayList
  decrypt(cipher: Bytes): Uint8ArrayList
}

const MAX_MESSAGE = 65_535
/** Up to here a copy costs less than the system calls that it saves. */
const MAX_WHOLE = 16_384
/** From here on the library decrypts with node:crypto, which takes the parts as they are; below, in place. */
const MIN_NATIVE = 1200

export function encryption(): ReturnType<typeof noise> {
  return (components) => {
    const inner = noise()(components)
    const { secureInbound, secureOutbound } = inner
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

function isAsExpected(connection: Encrypted): boolean {
  const { handshake, encrypt, decrypt } = connection
  return [handshake?.encrypt, handshake?.decrypt, encrypt, decrypt].every((one) => typeof one === 'function')
}
