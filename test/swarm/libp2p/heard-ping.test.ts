import { expect, test } from 'vitest'
import { ping } from '../../../daemon/swarm/links/probe.ts'
import { worldClock } from '../groups.ts'
import { bareHost } from './bare-host.ts'

test('a node hears of whoever pings it, and answers', async () => {
  const heard: string[] = []
  const a = await bareHost({ topic: 't', onPing: (peer) => void heard.push(peer) })
  const b = await bareHost({ topic: 't' })
  try {
    const connection = await b.dial(a.getMultiaddrs())
    await ping(connection, worldClock)
    await ping(connection, worldClock)
    expect(heard).toEqual([b.peerId.toString(), b.peerId.toString()])
  } finally {
    await Promise.all([a.stop(), b.stop()])
  }
})
