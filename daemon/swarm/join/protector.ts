// Keeps whoever does not have a private swarm's key off its connections. It is libp2p's protector, and the only file that uses
// private fields of @libp2p/pnet 3.0.27: its ciphers. Those of all connections share one WebAssembly memory (xsalsa20 1.2). Once it
// grows, each connection's view of it is empty, so each grows it again, until it is full and the node ends. It does not grow if
// pieces are short, and if closed connections give back their part.

import type { ConnectionProtector, MessageStream } from '@libp2p/interface'
import { preSharedKey } from '@libp2p/pnet'
import { formatPsk } from './psk.ts'

/** Of 640 KB of memory; the rest is for 3000 connections. */
const PIECE = 256 << 10

interface Cipher {
  update(input: Uint8Array, output?: Uint8Array): Uint8Array
  finalize(): void
}

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
        const { inboundXor, outboundXor } = stream as unknown as Record<keyof Protected, Cipher>
        replace(stream, { inboundXor: inPieces(inboundXor), outboundXor: inPieces(outboundXor) })
        const close = (): void => {
          replace(stream, { inboundXor: CLOSED, outboundXor: CLOSED })
          inboundXor.finalize()
          outboundXor.finalize()
        }
        // One that ended during the handshake does not tell again.
        if (connection.status === 'open') stream.addEventListener('close', close, { once: true })
        else close()
        return stream
      },
    }
  }
}

const replace = (stream: MessageStream, ciphers: Protected): void => void Object.assign(stream, ciphers)

/** Nothing is read or sent any more. */
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
