// Noise at less cost: what it replaces in the library is still there, and it understands the library's own at every size.

import { createHash, randomBytes } from 'node:crypto'
import { noise } from '@libp2p/noise'
import { tcp } from '@libp2p/tcp'
import { lpStream } from '@libp2p/utils'
import { yamux } from '@libp2p/yamux'
import { createLibp2p, type Libp2p } from 'libp2p'
import { afterEach, expect, test } from 'vitest'
import { encryption } from '../../../daemon/swarm/libp2p/encryption.ts'

const ECHO = '/echo/1'
const SIZES = [0, 1, 1199, 1200, 1201, 16_383, 16_384, 16_385, 65_518, 65_519, 65_520, 500_000]
interface Crypto {
  encrypt(plain: Uint8Array, nonce: Uint8Array, ad: Uint8Array, key: Uint8Array): { subarray(): Uint8Array }
  decrypt(cipher: Uint8Array, nonce: Uint8Array, ad: Uint8Array, key: Uint8Array): { subarray(): Uint8Array }
}
const running: Libp2p[] = []
afterEach(async () => {
  await Promise.all(running.splice(0).map((node) => node.stop()))
})

async function start(connectionEncrypter: ReturnType<typeof noise>, listen: string[] = []): Promise<Libp2p> {
  const node = await createLibp2p({
    addresses: { listen },
    transports: [tcp()],
    connectionEncrypters: [connectionEncrypter],
    streamMuxers: [yamux()],
  })
  running.push(node)
  await node.handle(ECHO, async (stream) => {
    const messages = lpStream(stream)
    for (const _ of SIZES) await messages.write(await messages.read())
  })
  return node
}

const digest = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

for (const [who, dialler, listener] of [
  ['each other', encryption, encryption],
  ['the library’s, from the dialler’s side', encryption, noise],
  ['the library’s, from the listener’s side', noise, encryption],
] as const) {
  test(`messages of every size go through unchanged between ${who}`, async () => {
    const server = await start(listener(), ['/ip4/127.0.0.1/tcp/0'])
    const client = await start(dialler())
    const messages = lpStream(await client.dialProtocol(server.getMultiaddrs(), ECHO))
    for (const size of SIZES) {
      const bytes = randomBytes(size)
      await messages.write(bytes)
      expect(digest((await messages.read()).subarray())).toBe(digest(bytes))
    }
  })
}

test('a message that was changed on the way is refused, of every size', async () => {
  let crypto: Crypto | undefined
  const watched: ReturnType<typeof noise> = (components) => {
    const inner = encryption()(components)
    crypto = (inner as unknown as { crypto: Crypto }).crypto
    return inner
  }
  await start(watched)
  const [key, nonce, ad] = [randomBytes(32), randomBytes(12), new Uint8Array(0)]
  for (const size of SIZES) {
    const bytes = randomBytes(size)
    const sealed = Uint8Array.from(crypto!.encrypt(bytes, nonce, ad, key).subarray())
    expect(digest(crypto!.decrypt(sealed.slice(), nonce, ad, key).subarray())).toBe(digest(bytes))
    for (const at of [0, size >> 1, size, size + 15]) {
      const changed = sealed.slice()
      changed[at]! ^= 1
      expect(() => crypto!.decrypt(changed, nonce, ad, key)).toThrow()
    }
  }
})

test('the library still has the methods that are replaced', async () => {
  const seen: object[] = []
  const watched: ReturnType<typeof noise> = (components) => {
    const inner = encryption()(components)
    const { secureOutbound } = inner
    return Object.assign(inner, {
      secureOutbound: async (...args: Parameters<typeof secureOutbound>) => {
        const secured = await secureOutbound(...args)
        seen.push(secured.connection)
        return secured
      },
    })
  }
  const server = await start(noise(), ['/ip4/127.0.0.1/tcp/0'])
  const client = await start(watched)
  await client.dial(server.getMultiaddrs())
  expect(Object.keys(seen[0]!)).toEqual(expect.arrayContaining(['encrypt', 'decrypt']))
  const { handshake } = seen[0] as { handshake: Record<string, unknown> }
  expect([typeof handshake.encrypt, typeof handshake.decrypt]).toEqual(['function', 'function'])
})
