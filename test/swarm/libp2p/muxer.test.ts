// Yamux at less cost: what it uses of the library is still there, and it understands the library's own.

import { randomBytes } from 'node:crypto'
import type { Connection } from '@libp2p/interface'
import { noise } from '@libp2p/noise'
import { tcp } from '@libp2p/tcp'
import { lpStream } from '@libp2p/utils'
import { yamux } from '@libp2p/yamux'
import { createLibp2p, type Libp2p } from 'libp2p'
import { afterEach, expect, test } from 'vitest'
import { muxer, onPinged, pingMuxer } from '../../../daemon/swarm/libp2p/muxer.ts'
import { ping } from '../../../daemon/swarm/links/probe.ts'
import { worldClock } from '../groups.ts'

const ECHO = '/echo/1'
const WINDOW = 256 * 1024
const running: Libp2p[] = []
afterEach(async () => {
  await Promise.all(running.splice(0).map((node) => node.stop()))
})

/** One that answers with what it gets. */
async function start(streamMuxer: () => ReturnType<ReturnType<typeof yamux>>): Promise<Libp2p> {
  const node = await createLibp2p({
    addresses: { listen: ['/ip4/127.0.0.1/tcp/0'] },
    transports: [tcp()],
    connectionEncrypters: [noise()],
    streamMuxers: [streamMuxer],
  })
  running.push(node)
  await node.handle(ECHO, async (stream) => {
    const messages = lpStream(stream, { maxDataLength: 8 << 20 })
    for (;;) await messages.write(await messages.read())
  })
  return node
}

/** What a node sends in frames of yamux from now on. */
function framesOf(connection: Connection): { type: number }[] {
  const frames: { type: number }[] = []
  const { muxer } = connection as never as { muxer: { sendFrame(frame: { type: number }): unknown } }
  const send = muxer.sendFrame.bind(muxer)
  muxer.sendFrame = (frame) => {
    frames.push(frame)
    return send(frame)
  }
  return frames
}
const WINDOW_UPDATE = 1

for (const [who, ours, theirs] of [
  ['each other', muxer(), muxer()],
  ['the library’s, from the dialler’s side', muxer(), yamux()],
  ['the library’s, from the listener’s side', yamux(), muxer()],
] as const) {
  test(`messages larger than a window go both ways between ${who}`, async () => {
    const [server, client] = [await start(theirs as never), await start(ours as never)]
    const stream = await client.dialProtocol(server.getMultiaddrs(), ECHO)
    const messages = lpStream(stream, { maxDataLength: 8 << 20 })
    for (const size of [1, WINDOW / 2, WINDOW, 5 * WINDOW + 7]) {
      const bytes = randomBytes(size)
      await messages.write(bytes)
      expect(Buffer.compare((await messages.read()).subarray(), bytes)).toBe(0)
    }
  })
}

test('a window is updated once half of it is used, not for each piece of data', async () => {
  const [server, client] = [await start(muxer() as never), await start(muxer() as never)]
  const connection = await client.dial(server.getMultiaddrs())
  const messages = lpStream(await connection.newStream(ECHO), { maxDataLength: 8 << 20 })
  const frames = framesOf(connection)
  for (let i = 0; i < 32; i++) {
    await messages.write(randomBytes(WINDOW / 64))
    await messages.read()
  }
  // Half a window came back.
  expect(frames.filter(({ type }) => type === WINDOW_UPDATE).length).toBeLessThanOrEqual(1)
})

test('a stream that is opened while its connection closes fails, and nothing else does', async () => {
  const [server, client] = [await start(muxer() as never), await start(muxer() as never)]
  const connection = await client.dial(server.getMultiaddrs())
  const { muxer: used } = connection as never as { muxer: { sendFrame(): void } }
  used.sendFrame = () => {
    throw new Error('Cannot write to a stream that is closed')
  }
  await expect(connection.newStream(ECHO)).rejects.toThrow()
})

test('a node hears of whoever pings it, and answers without a stream', async () => {
  // The library's own pings would be heard as well.
  const quiet = { enableKeepAlive: false }
  const [server, client] = [await start(muxer(quiet) as never), await start(muxer(quiet) as never)]
  const connection = await client.dial(server.getMultiaddrs())
  const heard: string[] = []
  await expect.poll(() => server.getConnections().length).toBe(1)
  onPinged(server.getConnections()[0]!, () => heard.push('ping'))
  expect(pingMuxer(connection)).toBeInstanceOf(Promise)
  await ping(connection, worldClock)
  expect(heard).toEqual(['ping'])
  expect(connection.streams.filter(({ protocol }) => protocol?.includes('ping'))).toEqual([])
})

test('a connection whose muxer has no pings is pinged over a stream', async () => {
  const [server, client] = [await start(muxer() as never), await start(muxer() as never)]
  const connection = await client.dial(server.getMultiaddrs())
  ;(connection as never as { muxer: { ping: undefined } }).muxer.ping = undefined
  await ping(connection, worldClock)
})
