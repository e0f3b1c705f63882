// What the cipher of private swarms does with much data, and with many connections.

import type { ConnectionProtector, MessageStream } from '@libp2p/interface'
import { multiaddrConnectionPair } from '@libp2p/utils'
import { expect, test } from 'vitest'
import { createProtector } from '../../../daemon/swarm/join/protector.ts'
import { makePsk } from '../../../daemon/swarm/join/psk.ts'

const create = createProtector(makePsk())

async function connect(
  protector: ConnectionProtector = create(),
): Promise<[MessageStream, MessageStream, () => void]> {
  const [here, there] = multiaddrConnectionPair()
  const pair = await Promise.all([protector.protect(here), protector.protect(there)])
  return [
    ...pair,
    () => {
      for (const one of [here, there]) one.abort(new Error('the test ends'))
    },
  ] as [MessageStream, MessageStream, () => void]
}

/** Everything that comes, until so many bytes have. */
function receive(stream: MessageStream, bytes: number): Promise<Buffer> {
  const parts: Uint8Array[] = []
  let at = 0
  return new Promise((done) => {
    stream.addEventListener('message', ({ data }) => {
      parts.push(data.subarray())
      at += data.byteLength
      if (at >= bytes) done(Buffer.concat(parts))
    })
  })
}

test('a peer’s weights in one piece, and whatever comes after them, arrive as they were sent', async () => {
  const [here, there] = await connect()
  const large = Buffer.from(Uint8Array.from({ length: 1_100_000 }, (_, i) => i % 251))
  const arrived = receive(there, large.length)
  here.send(large)
  expect((await arrived).equals(large)).toBe(true)
  const small = Buffer.from('a step of each')
  for (let i = 0; i < 1000; i++) {
    const [from, to] = i % 2 === 0 ? [here, there] : [there, here]
    const answer = receive(to, small.length)
    from.send(small)
    expect((await answer).toString()).toBe('a step of each')
  }
}, 60_000)

test('thousands of connections that were closed leave the cipher’s memory to the next', async () => {
  for (let i = 0; i < 2600; i++) {
    const [, , close] = await connect()
    close()
  }
  const [here, there] = await connect()
  for (let i = 0; i < 1000; i++) {
    const [from, to] = i % 2 === 0 ? [here, there] : [there, here]
    const answer = receive(to, 3)
    from.send(Buffer.from('yes'))
    expect((await answer).toString()).toBe('yes')
  }
}, 60_000)
