// Port forwarding by PCP and NAT-PMP, against a scripted router on loopback.

import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { multiaddr } from '@multiformats/multiaddr'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { defaultGateways, defaultGateways6 } from '../../../daemon/swarm/router/default-gateway.ts'
import { PcpGateway, Silence } from '../../../daemon/swarm/router/pcp-gateway.ts'
import { Pinholes } from '../../../daemon/swarm/router/pinholes.ts'
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

test('an own address that is gone is as good as a router that does not answer', async () => {
  const asked = PcpGateway.at({ gateway: '192.0.2.1', from: '192.0.2.77' }, { internalPort: 4001, signal })
  await expect(asked).rejects.toThrow(Silence)
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

describe('with IPv6', () => {
  /** Of RFC 6887, figures 2, 3 and 9, for port 4001 (0fa1) of ::1. */
  const LOOPBACK = '00000000000000000000000000000001'
  const asks = (lease: string, nonce: string, outside = '0fa1') =>
    `0201 0000 ${lease} ${LOOPBACK} ${nonce} 06 000000 0fa1 ${outside} ${'0'.repeat(32)}`.replaceAll(' ', '')
  const answers = (lease: string, nonce: string, ip = LOOPBACK) =>
    `0281 0000 ${lease} 0000004d ${'0'.repeat(24)} ${nonce} 06 000000 0fa1 0fa1 ${ip}`.replaceAll(' ', '')

  /** Answers as `answer` says; collects what it was asked. */
  async function firewall(answer: (lease: string, nonce: string) => string) {
    const socket = createSocket('udp6')
    const heard: string[] = []
    socket.on('message', (request, { port }) => {
      const hex = request.toString('hex')
      heard.push(hex)
      socket.send(Buffer.from(answer(hex.slice(8, 16), hex.slice(48, 72)), 'hex'), port, '::1')
    })
    socket.bind(0, '::1')
    await once(socket, 'listening')
    const at = () =>
      PcpGateway.at(
        { gateway: '::1', from: '::1' },
        { internalPort: 4001, signal, port: socket.address().port },
      )
    return { heard, at, close: () => socket.close() }
  }

  test('a pinhole is opened and closed by the bytes of the standard', async () => {
    const router = await firewall((lease, nonce) => answers(lease, nonce))
    const gateway = await router.at()
    expect(await gateway.externalIp(signal)).toBe('0000:0000:0000:0000:0000:0000:0000:0001')
    const wanted = { internalIp: '::1', internalPort: 4001, externalPort: 4001 }
    expect(await gateway.forward(wanted, OPTIONS)).toBe(4001)
    await gateway.remove(4001, signal)
    const nonce = router.heard[0]!.slice(48, 72)
    expect(router.heard).toEqual([
      asks('0000003c', nonce),
      asks('0000003c', nonce),
      asks('00000384', nonce),
      asks('00000000', nonce, '0000'),
    ])
    router.close()
  })

  test('an answer with an IPv4 address is none', async () => {
    const router = await firewall((lease, nonce) =>
      answers(lease, nonce, `${'0'.repeat(20)}ffff${'05090001'}`),
    )
    await expect((await router.at()).externalIp(signal)).rejects.toThrow('malformed')
    router.close()
  })

  test('a router that knows only NAT-PMP opens none', async () => {
    const router = await firewall(() => '0081000100000000')
    await expect(router.at()).rejects.toThrow('only NAT-PMP')
    router.close()
  })

  test('only TCP on addresses of the internet is opened; what fails is no failure of the node', async () => {
    const asked: string[][] = []
    const confirmed: string[] = []
    const own = ['/ip6/::1', '/ip6/fe80::7', '/ip6/fd00::7', '/ip6/2a01:4f8::7', '/ip4/5.9.0.1']
    const pinholes = new Pinholes(
      {
        getAddressesWithMetadata: () =>
          own.map((ip) => ({ multiaddr: multiaddr(`${ip}/tcp/4001`), type: 'transport' })),
        addPublicAddressMapping: () => {},
        removePublicAddressMapping: () => {},
        confirmObservedAddr: (address) => confirmed.push(String(address)),
      },
      {
        log: () => {},
        hops6: async (from) => {
          asked.push([...from])
          return from.map((ip) => ({ gateway: '::1', from: ip }))
        },
      },
    )
    await pinholes.renew(signal)
    await pinholes.close(signal)
    expect(asked).toEqual([['2a01:4f8::7']])
    expect(confirmed).toEqual([])
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

  test('of IPv6 is what Linux says, for the interface of the address', () => {
    const zero = '0'.repeat(32)
    const to = (destination: string, length: string, gateway: string, card: string) =>
      `${destination} ${length} ${zero} 00 ${gateway} 00000400 00000003 00000000 00000003     ${card}`
    const routes6 = [
      to(`2a0104f8${'0'.repeat(24)}`, '40', zero, 'eth0'),
      to(zero, '00', 'fe800000000000000000000000000001', 'wlan0'),
      to(zero, '00', 'fd000000000000000000000000000001', 'eth0'),
      to(zero, '00', zero, 'lo'),
      'nonsense',
    ].join('\n')
    const six = (address: string) =>
      ({ ...card(address, 'ffff:ffff:ffff:ffff::'), family: 'IPv6', scopeid: 0 }) as const
    const cards = {
      ...interfaces,
      wlan0: [six('2a01:4f8:1::7')],
      eth0: [six('2a01:4f8::7')],
      eth1: [six('2a01:4f8:2::7')],
    }
    expect(
      defaultGateways6(['2a01:4f8::7', '2a01:4f8:1::7', '2a01:4f8:2::7', '2a01::1'], {
        interfaces: cards,
        routes: undefined,
        routes6,
      }),
    ).toEqual([
      { gateway: 'fd00:0000:0000:0000:0000:0000:0000:0001', from: '2a01:4f8::7' },
      { gateway: 'fe80:0000:0000:0000:0000:0000:0000:0001%wlan0', from: '2a01:4f8:1::7' },
    ])
    expect(defaultGateways6(['2a01:4f8::7'], { interfaces: cards, routes: undefined })).toEqual([])
  })

  test('is elsewhere taken to be the first address of the network', () => {
    expect(defaultGateways(from, { interfaces, routes: undefined })).toEqual([
      { gateway: '192.168.7.1', from: '192.168.7.20' },
      { gateway: '10.1.0.1', from: '10.1.2.3' },
    ])
  })
})
