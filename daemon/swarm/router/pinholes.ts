// Asks the routers to let connections in over IPv6. The addresses are the machine's own, but most home routers drop
// unsolicited packets. PCP (RFC 6887) opens the firewall for one address and port. Most routers do not support it, and
// many have no IPv6, so the user is not told if none does.

import { multiaddr } from '@multiformats/multiaddr'
import {
  type AddressManager,
  behindFirewall,
  type IpPort,
  isSame,
  LONG_MS,
  toAddress,
} from '../addresses/outside-addresses.ts'
import type { Log } from '../types.ts'
import { defaultGateways6, type Hop, networksHere } from './default-gateway.ts'
import { PcpGateway } from './pcp-gateway.ts'

/** A machine may have many addresses, some of them valid only for a day. */
const MAX_PINHOLES = 4
const LEASE_S = 3600

export interface PinholesParts {
  log: Log
  /** The routers to ask; `pcpPort` is the UDP port if not the standard one. */
  hops6?: (from: readonly string[]) => Promise<readonly Hop[]>
  pcpPort?: number
}

interface Pinhole {
  listener: IpPort
  gateway: PcpGateway
}

export class Pinholes {
  private readonly addressManager: AddressManager
  private readonly parts: PinholesParts
  private open: readonly Pinhole[] = []

  constructor(addressManager: AddressManager, parts: PinholesParts) {
    this.addressManager = addressManager
    this.parts = parts
  }

  /** Opens a pinhole for each address that the node listens on, and renews the open ones. Never rejects. */
  async renew(signal: AbortSignal): Promise<void> {
    const listeners = behindFirewall(this.addressManager).slice(0, MAX_PINHOLES)
    if (listeners.length === 0 && this.open.length === 0) return
    const before = this.addresses()
    const hops = await (this.parts.hops6 ?? hopsHere)(listeners.map(({ ip }) => ip)).catch(() => [])
    const found = await Promise.all(
      listeners.map((listener) =>
        this.openOne(listener, hops, signal).catch((error: Error) => {
          if (!signal.aborted)
            this.parts.log('debug', 'no router opens its firewall', {
              address: toAddress(listener),
              error: error.message,
            })
          return undefined
        }),
      ),
    )
    this.open = found.filter((one) => one !== undefined)
    const addresses = this.addresses()
    if (addresses.length > 0 && addresses.join() !== before.join())
      this.parts.log('info', 'the router lets connections in over IPv6', { addresses })
  }

  /** miniupnpd 2.3.1 refuses to close a pinhole, so it is then given the shortest lease, two minutes there. */
  async close(signal: AbortSignal): Promise<void> {
    const { open } = this
    this.open = []
    const closed = open.map(({ listener, gateway }) =>
      gateway
        .remove(listener.port, signal)
        .catch(() => this.ask(gateway, listener, { leaseSeconds: 1, signal })),
    )
    await Promise.allSettled(closed)
  }

  private ask(
    gateway: PcpGateway,
    { ip, port }: IpPort,
    options: { leaseSeconds: number; signal: AbortSignal },
  ): Promise<number> {
    return gateway.forward({ internalIp: ip, internalPort: port, externalPort: port }, options)
  }

  private addresses(): string[] {
    return this.open.map(({ listener }) => toAddress(listener))
  }

  private async openOne(
    listener: IpPort,
    hops: readonly Hop[],
    signal: AbortSignal,
  ): Promise<Pinhole | undefined> {
    const hop = hops.find(({ from }) => from === listener.ip)
    if (!hop) return undefined
    const { port } = listener
    const known = this.open.find((one) => isSame(one.listener, listener))?.gateway
    const gateway =
      known ?? (await PcpGateway.at(hop, { internalPort: port, signal, port: this.parts.pcpPort }))
    const outside = await gateway.externalIp(signal)
    const granted = await this.ask(gateway, listener, { leaseSeconds: LEASE_S, signal })
    if (
      granted !== port ||
      !multiaddr(toAddress({ ip: outside, port })).equals(multiaddr(toAddress(listener)))
    ) {
      await gateway.remove(granted, signal)
      throw new Error(`the router translates the address to ${outside} and the port to ${granted}`)
    }
    this.addressManager.confirmObservedAddr(multiaddr(toAddress(listener)), { ttl: LONG_MS })
    return { listener: listener, gateway }
  }
}

async function hopsHere(from: readonly string[]): Promise<Hop[]> {
  return defaultGateways6(from, await networksHere())
}
