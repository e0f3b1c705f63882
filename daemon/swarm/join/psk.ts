// The key of a private swarm, in the text format of libp2p's and IPFS's swarm.key files.

import { Buffer } from 'node:buffer'
import { randomBytes } from 'node:crypto'
import { WaggleError } from '../../../protocol/errors.ts'

const HEAD = '/key/swarm/psk/1.0.0/\n/base16/\n'

/** 32 random bytes from the system, not derived from the node's seed, since this is a secret. */
export function makePsk(): Uint8Array {
  return Uint8Array.from(randomBytes(32))
}

export function formatPsk(psk: Uint8Array): string {
  return `${HEAD}${Buffer.from(psk).toString('hex')}\n`
}

/** Throws E_CONFIG. The message never contains the text. */
export function parsePsk(text: string): Uint8Array {
  const hex = /^\/key\/swarm\/psk\/1\.0\.0\/\r?\n\/base16\/\r?\n([0-9a-fA-F]{64})\s*$/.exec(text)?.[1]
  if (hex === undefined)
    throw new WaggleError('E_CONFIG', 'this is not the key of a private swarm', {
      hint: 'It has three lines: /key/swarm/psk/1.0.0/, /base16/, and 64 hex digits.',
    })
  return Uint8Array.from(Buffer.from(hex, 'hex'))
}
