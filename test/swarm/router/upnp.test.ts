// Port forwarding against a scripted router on loopback: what peers are told, what is renewed and removed, and routers
// that are old, refuse, lie, or are not there. Against a real one: scripts/bench/swarm/upnp.ts.

import { multiaddr } from '@multiformats/multiaddr'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type Forwarded, PortForwarding } from '../../../daemon/swarm/router/port-forwarding.ts'
import { readAnswer, searchGateways } from '../../../daemon/swarm/router/upnp-search.ts'
import { until } from '../groups.ts'
import { type ScriptedRouter, scriptedRouter } from './scripted-router.ts'

const HOME = '192.168.1.10'
let router: ScriptedRouter
let stops: Array<() => Promise<void>> = []
beforeEach(async () => {
  router = await scriptedRouter()
})
afterEach(async () => {
  for (const stop of stops) await stop()
  stops = []
  await router.stop()
})

/** Searches over loopback, not for long, and says that it was from home. */
const nearby: typeof searchGateways = ({ signal }, { onFound }) =>
  searchGateways(
    { from: ['127.0.0.1'], signal: AbortSignal.any([signal, AbortSignal.timeout(200)]), to: router.ssdp },
    { onFound: ({ location }) => onFound({ location, from: HOME }) },
  )

function forwarding({ search = nearby, listen = [`/ip4/${HOME}/tcp/4001`, '/ip4/127.0.0.1/tcp/4001'] } = {}) {
  const outside = new Set<string>()
  const unconfirmed = new Set<string>()
  const outcomes: Forwarded[] = []
  const timers: Array<{ ms: number; run: () => void }> = []
  const service = new PortForwarding(
    {
      addressManager: {
        getAddressesWithMetadata: () =>
          listen.map((address) => ({ multiaddr: multiaddr(address), type: 'transport' })),
        addPublicAddressMapping: (_ip, _port, ip, port) => unconfirmed.add(`/ip4/${ip}/tcp/${port}`),
        removePublicAddressMapping: (_ip, _port, ip, port) => outside.delete(`/ip4/${ip}/tcp/${port}`),
        confirmObservedAddr: (address) => {
          if (unconfirmed.delete(String(address))) outside.add(String(address))
        },
      },
      events: new EventTarget(),
    },
    {
      clock: {
        now: () => 0,
        after(ms, run) {
          const timer = { ms, run }
          timers.push(timer)
          return () => void (timers.includes(timer) && timers.splice(timers.indexOf(timer), 1))
        },
      },
      random: () => 0.5,
      log: () => {},
      onForwarded: (outcome) => outcomes.push(outcome),
      search,
    },
  )
  const events = (service as unknown as { components: { events: EventTarget } }).components.events
  service.start()
  events.dispatchEvent(new Event('transport:listening'))
  let stopped: Promise<void> | undefined
  const stop = () => (stopped ??= service.stop())
  stops.push(stop)
  return {
    outside,
    outcomes,
    stop,
    listen,
    /** The only timer there is, when its work is done: how long it was for. */
    async wait() {
      await until('the next look', () => timers.some(({ ms }) => ms >= 60_000))
      return timers.find(({ ms }) => ms >= 60_000)!.ms
    },
    async later() {
      const ms = await this.wait()
      const timer = timers.find((one) => one.ms === ms)!
      timers.splice(timers.indexOf(timer), 1)
      timer.run()
      await this.wait()
    },
  }
}

describe.each([1, 2] as const)('a gateway of version %i', (version) => {
  test('forwards the port for an hour at most, peers hear of it at once, and the stop takes it back', async () => {
    router.behaviour.version = version
    const node = forwarding()
    expect(await node.wait()).toBe(300_000)
    expect([...router.ports]).toEqual([[4001, { to: `${HOME}:4001`, lease: 3600 }]])
    expect([...node.outside]).toEqual(['/ip4/5.9.0.11/tcp/4001'])
    expect(node.outcomes).toEqual([{ addresses: ['/ip4/5.9.0.11/tcp/4001'] }])
    await node.stop()
    expect(router.ports.size + node.outside.size).toBe(0)
  })
})

test('takes another outside port if its own is in use, keeps it, and removes it at the stop', async () => {
  router.behaviour.refuse = [718]
  const node = forwarding()
  await node.wait()
  expect([...node.outside]).toEqual(['/ip4/5.9.0.11/tcp/57344'])
  await node.later()
  expect([...router.ports.keys()]).toEqual([57_344])
  await node.stop()
  expect(router.ports.size).toBe(0)
})

test('a router that knows no end of a forwarding gets one without', async () => {
  router.behaviour.refuse = [725]
  const node = forwarding()
  await node.wait()
  expect(router.ports.get(4001)!.lease).toBe(0)
})

test('a router that forgot, and has another address, is asked again and peers hear of the new one', async () => {
  const node = forwarding()
  await node.wait()
  router.ports.clear()
  router.behaviour.ip = '5.9.0.12'
  await node.later()
  expect(router.ports.has(4001)).toBe(true)
  expect([...node.outside]).toEqual(['/ip4/5.9.0.12/tcp/4001'])
})

test('on another network the old outside address is withdrawn', async () => {
  const node = forwarding()
  await node.wait()
  node.listen.splice(0, 2)
  await node.later()
  expect(node.outside.size).toBe(0)
})

test('a refusal is reported once, without control characters, and retried until it succeeds', async () => {
  router.behaviour.refuse = [606, 606]
  const node = forwarding()
  expect(await node.wait()).toBe(60_000)
  await node.later()
  expect(node.outcomes).toEqual([
    { trouble: expect.stringMatching(/^the router refuses: No\P{Cc}*! \(606\)$/u) },
  ])
  expect(node.outside.size).toBe(0)
  await node.later()
  expect(node.outcomes).toHaveLength(2)
  expect(node.outside.size).toBe(1)
})

test('a missing router is reported once and searched for again', async () => {
  const node = forwarding({ search: async () => {} })
  expect(await node.wait()).toBe(60_000)
  await node.later()
  expect(node.outcomes).toEqual([{ trouble: 'no router on this network answers' }])
})

test('a router behind another router is of no use, and says so', async () => {
  router.behaviour.ip = '100.64.3.4'
  const node = forwarding()
  await node.wait()
  expect(node.outcomes).toEqual([{ trouble: expect.stringContaining('100.64.3.4, is not on the internet') }])
  expect(router.calls).not.toContain('AddPortMapping')
})

test('a gateway that points at another machine, or floods, is asked for nothing', async () => {
  const service = 'urn:schemas-upnp-org:service:WANIPConnection:2'
  const describe = (url: string) =>
    `<service><serviceType>${service}</serviceType><controlURL>${url}</controlURL></service>`
  for (const description of [
    describe('http://127.0.0.2:1/ctl'),
    describe('file:///etc/passwd'),
    '<service>'.repeat(20_000),
    'x'.repeat(1 << 20),
  ]) {
    router.behaviour.description = description
    const node = forwarding()
    await node.wait()
    expect(node.outcomes).toEqual([{ trouble: expect.stringMatching(/forwards no ports|too long/) }])
  }
  expect(router.calls).toEqual([])
})

test('a node that listens only on public addresses or loopback asks no router', async () => {
  const node = forwarding({
    listen: ['/ip4/5.9.0.2/tcp/4001', '/ip4/127.0.0.1/tcp/1', '/ip4/169.254.1.1/tcp/1'],
  })
  await node.wait()
  expect(router.calls).toEqual([])
  expect(node.outcomes).toEqual([])
})

test('stopping in the middle of a search leaves nothing behind', async () => {
  let searching = false
  const node = forwarding({
    search: ({ signal }) =>
      new Promise((resolve) => {
        searching = true
        signal.addEventListener('abort', () => resolve())
      }),
  })
  await until('the search', () => searching)
  await node.stop()
  expect(node.outcomes).toEqual([])
})

test('an own address that is gone cannot be searched from, and harms nothing', async () => {
  const found: string[] = []
  await searchGateways(
    { from: ['192.0.2.77'], signal: AbortSignal.timeout(2000), to: router.ssdp },
    { onFound: ({ location }) => found.push(location.href) },
  )
  expect(found).toEqual([])
})

describe('an answer to a search', () => {
  const answer = (
    location: string,
    { status = 'HTTP/1.1 200 OK', st = 'device:InternetGatewayDevice:1' } = {},
  ) => Buffer.from(`${status}\r\nst: urn:schemas-upnp-org:${st}\r\nLocation: ${location}\r\n\r\n`)

  test('is taken from the gateway itself', () => {
    expect(readAnswer(answer('http://192.168.1.1:5000/d.xml'), '192.168.1.1')?.port).toBe('5000')
  })

  test.each([
    ['of another machine', answer('http://192.168.1.2/d.xml')],
    ['by name', answer('http://router.local/d.xml')],
    ['over another protocol', answer('ftp://192.168.1.1/d.xml')],
    ['without a place', answer('nowhere')],
    ['of another thing', answer('http://192.168.1.1/d.xml', { st: 'device:MediaServer:1' })],
    ['that is a question', answer('http://192.168.1.1/d.xml', { status: 'M-SEARCH * HTTP/1.1' })],
    ['that is too long', answer(`http://192.168.1.1/${'x'.repeat(4000)}`)],
    ['of nothing', Buffer.alloc(0)],
  ])('is not taken %s', (_, datagram) => {
    expect(readAnswer(datagram, '192.168.1.1')).toBeUndefined()
  })
})
