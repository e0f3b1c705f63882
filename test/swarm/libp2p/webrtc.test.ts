// WebRTC: what is said where it is missing, and two nodes that nobody can dial, which find a direct way by the STUN
// responder and the signals of their relay. All on loopback; behind real NATs: scripts/bench/swarm/join.ts.

import { afterEach, expect, test } from 'vitest'
import { webRtcTransport } from '../../../daemon/swarm/libp2p/webrtc.ts'
import { decodeInvite } from '../../../protocol/wire/index.ts'
import { draft, startNode, stopNodes, until } from '../helpers.ts'

afterEach(stopNodes)

test('if the package is missing, the error names the command that installs it', async () => {
  const missing = Object.assign(new Error('Cannot find package'), { code: 'ERR_MODULE_NOT_FOUND' })
  await expect(webRtcTransport({ stun: () => [] }, () => Promise.reject(missing))).rejects.toMatchObject({
    code: 'E_CONFIG',
    message: 'swarm.webrtc is on, and WebRTC is not installed',
    hint: expect.stringContaining('npm install @libp2p/webrtc@6.0.33'),
  })
  const broken = new Error('cannot open shared object file')
  await expect(webRtcTransport({ stun: () => [] }, () => Promise.reject(broken))).rejects.toMatchObject({
    code: 'E_CONFIG',
    message: expect.stringContaining('cannot open shared object file'),
  })
})

/** The native part is one optional package a platform. */
const installed = await import('@libp2p/webrtc').then(
  () => true,
  () => false,
)

test.runIf(installed)(
  'two nodes that nobody can dial get a direct connection through their relay',
  async () => {
    const relay = await startNode(
      { wide: true, relay: true, stunPort: 0 },
      { tasks: { find: () => undefined } },
    )
    const { stun } = decodeInvite(await relay.swarm.invite())
    expect(stun).toEqual([expect.stringMatching(/^127\.0\.0\.1:\d+$/)])
    const hidden = { wide: true, webrtc: true, listen: [], stun: stun! }
    const a = await startNode(hidden)
    const b = await startNode(hidden)
    await a.swarm.join(relay.address)
    await b.swarm.join(relay.address)
    await until('their addresses', () =>
      [a, b].every(({ swarm }) => swarm.addresses().some((address) => address.includes('/webrtc/'))),
    )
    await a.swarm.join(b.swarm.peerId)
    const link = () => a.swarm.peers().find(({ id }) => id === b.swarm.peerId)
    await until('a direct connection', () => link()?.how === 'webrtc' && link()?.mesh === true, 20_000)
    await a.swarm.publish(draft(1))
    await until('the group', () => b.groups.length === 1)
  },
)
