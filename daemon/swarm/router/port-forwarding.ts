// Asks the home router by UPnP, PCP or NAT-PMP to forward the ports that this node listens on, and announces the
// external address to peers. It trusts the router: AutoNAT needs confirmation by four peers in different networks,
// which a small swarm never has. Forwardings are renewed often, since a restarted router forgets them and many
// providers change the address. They are removed on stop and expire after a crash. Without such a router, the node goes
// on and searches again every minute. With IPv6, the router is asked to open its firewall instead.

import {
  type AddressManager,
  behindRouter,
  type IpPort,
  OutsideAddresses,
  toAddress,
} from '../addresses/outside-addresses.ts'
import { within } from '../within.ts'
import { Pinholes, type PinholesParts } from './pinholes.ts'
import { type FindRouterParts, findRouter, publicIp, type Router } from './router.ts'

/** UPnP's recommended lease. If a router supports only permanent forwardings, the port stays open after a crash. */
const LEASE_S = 3600
const RENEW_MS = 5 * 60_000
const RETRY_MS = 60_000
const REMOVE_MS = 1000
/** Maximum number of ports; a node listens on one or two. */
const MAX_PORTS = 4

/** External addresses without peer ID, or why there are none. */
export type Forwarded = { addresses: string[] } | { trouble: string }

export interface PortForwardingParts extends FindRouterParts, PinholesParts {
  /** Uniform in [0, 1); chooses an external port if this node's port number is taken. */
  random(): number
  /** Called on every change. */
  onForwarded(outcome: Forwarded): void
}

/** The parts of libp2p that are used here. */
export interface Components {
  addressManager: AddressManager
  events: Pick<EventTarget, 'addEventListener' | 'removeEventListener'>
}

/** A libp2p service. */
export class PortForwarding {
  private readonly components: Components
  private readonly parts: PortForwardingParts
  private readonly outside: OutsideAddresses
  private readonly pinholes: Pinholes
  private readonly life = new AbortController()
  private router: Router | undefined
  private working: Promise<void> | undefined
  private again = false
  private told = ''
  private cancel = () => {}
  private readonly look = () => {
    this.again = true
    if (!this.life.signal.aborted) this.working ??= this.work()
  }

  constructor(components: Components, parts: PortForwardingParts) {
    this.components = components
    this.parts = parts
    this.outside = new OutsideAddresses(components.addressManager)
    this.pinholes = new Pinholes(components.addressManager, parts)
  }

  start(): void {
    this.components.events.addEventListener('transport:listening', this.look)
  }

  async stop(): Promise<void> {
    this.components.events.removeEventListener('transport:listening', this.look)
    this.cancel()
    this.life.abort()
    await this.working
    const { gateway } = this.router ?? {}
    const removed = await within(REMOVE_MS, this.parts, async (signal) => {
      const closed = this.pinholes.close(signal)
      const forwarded = this.outside.all().map(({ port }) => gateway?.remove(port, signal))
      const outcomes = await Promise.allSettled(forwarded)
      await closed
      return outcomes
    })
    for (const one of removed)
      if (one.status === 'rejected')
        this.parts.log('debug', 'a forwarded port was not removed; it expires', { error: String(one.reason) })
    this.outside.set([])
  }

  private async work(): Promise<void> {
    const { signal } = this.life
    this.cancel()
    let next = RENEW_MS
    while (this.again && !signal.aborted) {
      this.again = false
      const renewed = this.pinholes.renew(signal)
      try {
        await this.forward(behindRouter(this.components.addressManager))
        next = RENEW_MS
      } catch (error) {
        if (signal.aborted) break
        this.outside.set([])
        this.router = undefined
        next = RETRY_MS
        this.tell({ trouble: reason(error) })
      } finally {
        await renewed
      }
    }
    this.working = undefined
    if (!signal.aborted) this.cancel = this.parts.clock.after(next, this.look)
  }

  private async forward(own: readonly IpPort[]): Promise<void> {
    if (own.length === 0) return this.outside.set([])
    const { signal } = this.life
    this.router = (await this.stillThere(own)) ?? (await findRouter({ own, signal }, this.parts))
    const { router } = this
    const ways = []
    for (const inside of own.filter(({ ip }) => ip === router.from).slice(0, MAX_PORTS)) {
      const asked = this.outside.of(inside)?.port ?? inside.port
      const port = await router.gateway.forward(
        { internalIp: inside.ip, internalPort: inside.port, externalPort: asked },
        {
          leaseSeconds: LEASE_S,
          // IANA's dynamic port range.
          nextPort: () => 49_152 + Math.floor(this.parts.random() * 16_384),
          signal,
        },
      )
      ways.push({ inside, outside: { ip: router.ip, port } })
    }
    this.outside.set(ways)
    this.tell({ addresses: this.outside.all().map(toAddress) })
  }

  /** The router used before, with its current external address, if it still answers. */
  private async stillThere(own: readonly IpPort[]): Promise<Router | undefined> {
    const { router } = this
    if (!router || !own.some(({ ip }) => ip === router.from)) return undefined
    try {
      return { ...router, ip: await publicIp(router.gateway, this.life.signal) }
    } catch {
      return undefined
    }
  }

  private tell(outcome: Forwarded): void {
    const text = JSON.stringify(outcome)
    if (text === this.told) return
    this.told = text
    this.parts.onForwarded(outcome)
  }
}

function reason(error: unknown): string {
  const { name, message } = error as Error
  return name === 'TimeoutError' || message === 'fetch failed' ? 'the router does not answer' : message
}
