// Identities from a seed: real Ed25519 keys, or stand-ins whose signature anybody can make and check in a microsecond. With
// stand-ins, only frames that nobody signed are told from signed ones; no actor uses that to sign for others.

import { createHash, createPrivateKey } from 'node:crypto'
import { identityOf } from '../../daemon/swarm/peers/identity.ts'
import { type Frame, peerIdOf, type Signer } from '../../protocol/wire/index.ts'
import type { Random } from './world.ts'

export type Signatures = 'real' | 'stand-in'

export interface SimulatedIdentity {
  peerId: string
  signer: Signer
}

const PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex')
/** Bytes before the frame in what is signed; see protocol/wire/frame.ts. */
const DOMAIN_BYTES = 'waggle/frame\0'.length

export function identityFrom(random: Random, signatures: Signatures): SimulatedIdentity {
  if (signatures === 'real') {
    const der = Buffer.concat([PKCS8, random.bytes(32)])
    return identityOf(createPrivateKey({ key: der, format: 'der', type: 'pkcs8' }))
  }
  const publicKey = random.bytes(32)
  return {
    peerId: peerIdOf(publicKey),
    signer: { publicKey, sign: (message) => sealOf(message.subarray(DOMAIN_BYTES)) },
  }
}

/** Undefined for real signatures, which the daemon checks by itself. */
export function authenticityOf(signatures: Signatures): { isAuthentic?: (frame: Frame) => boolean } {
  if (signatures === 'real') return {}
  return {
    isAuthentic({ bytes, body, signature }) {
      const is =
        authentic.get(bytes) ?? sealOf(Buffer.concat([bytes.subarray(0, 36), body])).equals(signature)
      authentic.set(bytes, is)
      return is
    },
  }
}

/** All nodes of a simulation check the same bytes. */
const authentic = new WeakMap<Uint8Array, boolean>()

/** Over header, key and body. */
function sealOf(content: Uint8Array): Buffer {
  return createHash('sha512').update(content).digest()
}
