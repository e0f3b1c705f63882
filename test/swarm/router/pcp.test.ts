// Port forwarding by PCP and NAT-PMP, against a scripted router on loopback.

import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { defaultGateways } from '../../../daemon/swarm/router/default-gateway.ts'
import { PcpGateway, Silence } from '../../../daemon/swarm/router/pcp-gateway.ts'
import { findRouter } from '../../../daemon/swarm/router/router.ts'
import { VirtualClock } from '../../virtual-clock.ts'
import { type ScriptedPcpRouter, scriptedPcpRouter } from './scripted-pcp-router.ts'

const HOP = { gateway: '127.0.0.1', from: '127.0.0.1' }
const WANTED = { internalIp: HOP.from, internalPort: 4001, externalPort: 4001 }
const { signal } = new AbortController()
const OPTIONS = { leaseSeconds: 3600, nextPort: () => 0, signal }
let router: ScriptedPcpRouter
beforeEach(async () => {
  router = await scriptedPcpRouter()
})
afterEach(() => router.stop())
const open = (stop = signal) => PcpGateway.at(HOP, { internalPort: 4001, signal: stop, port: router.port })

describe.each(['pcp', 'pmp'] as const)('a router that speaks %s', (speaks) => {
  beforeEach(() => {
    router.behaviour.speaks = speaks
  })

  test('forwards a port for a quarter of an hour, renews it under the same number, and takes it back', async () => {
    const gateway = await open()
    expect(await gateway.externalIp(signal)).toBe('5.9.0.11')
    for (let i = 0; i < 2; i++) expect(await gateway.forward(WANTED, OPTIONS)).toBe(4001)
    expect(router.ports.get(4001)).toMatchObject({ to: '127.0.0.1:4001', lease: 900 })
    await gateway.remove(4001, signal)
    expect(router.ports.has(4001)).toBe(false)
  })

  test('gives another port if ours is taken', async () => {
    router.ports.set(4001, { to: '127.0.0.9:4001', lease: 1, nonce: 'another' })
    const gateway = await open()
    expect(await gateway.forward(WANTED, OPTIONS)).toBe(4002)
    await gateway.remove(4002, signal)
    expect([...router.ports.keys()]).not.toContain(4002)
  })

  test('is asked again when a datagram gets lost', async () => {
    const gateway = await open()
    router.behaviour.lose = 1
    expect(await gateway.externalIp(signal)).toBe('5.9.0.11')
  })

  test('that refuses is understood', async () => {
    const gateway = await open()
    router.behaviour.result = 2
    await expect(gateway.forward(WANTED, OPTIONS)).rejects.toThrow(
      'the router refuses: it does not allow it (2)',
    )
  })

  test('answers that are cut, of other questions, or of nothing are passed over', async () => {
    const gateway = await open()
    const version = speaks === 'pcp' ? 2 : 0
    router.behaviour.noise = [
      Buffer.alloc(0),
      Buffer.from([version]),
      Buffer.from([7, 7, 7, 7]),
      Buffer.from([version, 0x84, 0, 0, 0, 0, 0, 0]),
      ...(speaks === 'pcp' ? [Buffer.concat([Buffer.from([2, 0x81, 0, 0]), Buffer.alloc(56)])] : []),
    ]
    expect(await gateway.forward(WANTED, OPTIONS)).toBe(4001)
  })
})

test('where nothing answers, both protocols are tried', async () => {
  router.behaviour.speaks = 'nothing'
  await expect(open()).rejects.toThrow(Silence)
  expect(router.heard).toEqual({ pcp: 3, pmp: 3 })
})

test('a stop ends a question at once', async () => {
  router.behaviour.speaks = 'nothing'
  const stop = new AbortController()
  const asked = open(stop.signal)
  stop.abort(new Error('stopped'))
  await expect(asked).rejects.toThrow('stopped')
})

describe('the search for a router', () => {
  const find = (hops = [HOP]) =>
    findRouter(
      { own: [{ ip: HOP.from, port: 4001 }], signal },
      {
        clock: new VirtualClock(),
        search: async () => {},
        hops: async () => hops,
        pcpPort: router.port,
      },
    )

  test('finds one that speaks PCP, with its address', async () => {
    expect(await find()).toMatchObject({ from: HOP.from, ip: '5.9.0.11' })
  })

  test('finds none behind another router, and says so', async () => {
    router.behaviour.ip = '100.64.3.4'
    await expect(find()).rejects.toThrow('100.64.3.4, is not on the internet')
  })

  test('says that none answers where there is none', async () => {
    await expect(find([])).rejects.toThrow('no router on this network answers')
  })
})

describe('the default gateway', () => {
  const card = (address: string, netmask: string) =>
    ({ address, netmask, family: 'IPv4', internal: false, mac: '', cidr: null }) as const
  const interfaces = {
    wlan0: [card('192.168.7.20', '255.255.255.0')],
    eth0: [card('10.1.2.3', '255.255.0.0')],
  }
  const from = ['192.168.7.20', '10.1.2.3', '172.16.0.9']

  test('is what Linux says, for the address on its network', () => {
    const head = 'Iface\tDestination\tGateway \tFlags\n'
    const routes = `${head}wlan0\t00000000\tFE07A8C0\t0003\nwlan0\t0007A8C0\t00000000\t0001\n`
    expect(defaultGateways(from, { interfaces, routes })).toEqual([
      { gateway: '192.168.7.254', from: '192.168.7.20' },
    ])
    expect(defaultGateways(from, { interfaces, routes: 'nonsense\n\t\t' })).toEqual([])
  })

  test('is elsewhere taken to be the first address of the network', () => {
    expect(defaultGateways(from, { interfaces, routes: undefined })).toEqual([
      { gateway: '192.168.7.1', from: '192.168.7.20' },
      { gateway: '10.1.0.1', from: '10.1.2.3' },
    ])
  })
})
