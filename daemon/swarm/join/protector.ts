// Keeps whoever does not have a private swarm's key off its connections: libp2p's protector, with the cipher that it uses held
// within bounds. xsalsa20 1.2 has one WebAssembly memory for all connections. If that grows, every connection's view of it is
// empty, so each grows it again, until it is 64 MB and a node ends with an error. It never has to grow for short pieces, and if
// what a closed connection had of it is given back.

import type { ConnectionProtector, MessageStream } from '@libp2p/interface'
import { preSharedKey } from '@libp2p/pnet'
import { formatPsk } from './psk.ts'

/** Of 640 KB of memory; the rest is for 3000 connections. */
const PIECE = 256 << 10

interface Cipher {
  update(input: Uint8Array, output?: Uint8Array): Uint8Array
  finalize(): void
}

/** libp2p's private fields. */
interface Protected {
  inboundXor: Pick<Cipher, 'update'>
  outboundXor: Pick<Cipher, 'update'>
}

/** `psk`: 32 bytes. */
export function createProtector(psk: Uint8Array): () => ConnectionProtector {
  const create = preSharedKey({ psk: Buffer.from(formatPsk(psk)) })
  return () => {
    const inner = create()
    return {
      async protect(connection, options) {
        const stream = await inner.protect(connection, options)
        return bounded(stream)
      },
    }
  }
}

function bounded(stream: MessageStream): MessageStream {
  const { inboundXor, outboundXor } = stream as unknown as { inboundXor: Cipher; outboundXor: Cipher }
  Object.assign(stream, {
    inboundXor: inPieces(inboundXor),
    outboundXor: inPieces(outboundXor),
  } satisfies Protected)
  stream.addEventListener('close', () => {
    // Nothing is read or sent any more.
    Object.assign(stream, { inboundXor: CLOSED, outboundXor: CLOSED } satisfies Protected)
    inboundXor.finalize()
    outboundXor.finalize()
  })
  return stream
}

const CLOSED: Pick<Cipher, 'update'> = { update: (input) => new Uint8Array(input.length) }

function inPieces(cipher: Cipher): Pick<Cipher, 'update'> {
  return {
    update(input) {
      const output = new Uint8Array(input.length)
      for (let at = 0; at < input.length; at += PIECE)
        cipher.update(input.subarray(at, at + PIECE), output.subarray(at, at + PIECE))
      return output
    },
  }
}
