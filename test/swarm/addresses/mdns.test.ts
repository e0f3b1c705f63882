// mDNS beside others on the network that speak it badly.

import { createSocket } from 'node:dgram'
import { expect, test } from 'vitest'
import { until } from '../groups.ts'
import { bareHost } from '../libp2p/bare-host.ts'
import { multicast } from './multicast.ts'

test.runIf(multicast)('a packet that cannot be read is no trouble of this node', async () => {
  const troubles: string[] = []
  let heard = 0
  const host = await bareHost({
    topic: '/waggle/1/mdns/groups',
    mdns: true,
    onMdnsTrouble: (message) => troubles.push(message),
    onMdnsWorks: () => heard++,
  })
  const socket = createSocket({ type: 'udp4', reuseAddr: true })
  const send = (bytes: Uint8Array) =>
    new Promise<void>((resolve, reject) =>
      socket.send(bytes, 5353, '224.0.0.251', (error) => (error ? reject(error) : resolve())),
    )
  try {
    await until('its own question', () => heard > 0)
    // Questions that end in the middle of a name; then one without any.
    for (let i = 0; i < 3; i++) await send(Buffer.from('0000000000010000000000003f61', 'hex'))
    const before = heard
    await send(Buffer.alloc(12))
    await until('the packet after them', () => heard > before)
    expect(troubles).toEqual([])
  } finally {
    socket.close()
    await host.stop()
  }
})
