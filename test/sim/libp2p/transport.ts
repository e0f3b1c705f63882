// TCP in a simulation, as a libp2p transport: cables between machines, each with its own weather in either direction.

import {
  type Connection,
  ConnectionFailedError,
  type CreateListenerOptions,
  type DialTransportOptions,
  type Listener,
  type ListenerEvents,
  type Logger,
  type Transport,
  transportSymbol,
} from '@libp2p/interface'
import { type Multiaddr, multiaddr } from '@multiformats/multiaddr'
import { TypedEventEmitter } from 'main-event'
import { CONNECT_MS } from '../../../daemon/swarm/libp2p/swarm-node.ts'
import { FAIR, type Weather } from '../net.ts'
import type { Random, World } from '../world.ts'
import { inLife } from './globals.ts'
import { type Machine, Wire, type WireParts } from './wire.ts'

/** ms after which a lost packet is sent again; doubled for each further loss. */
const RESEND_MS = 200
const OURS = /^\/ip4\/([^/]+)\/tcp\/\d+(\/p2p\/[^/]+)?$/

/** What a transport takes from its node. */
interface Components {
  logger: { forComponent(name: string): Logger }
}

interface Listening {
  machine: Machine
  log: Logger
  accept(wire: Wire): void
}

export type Cables = ReturnType<typeof createCables>

export function createCables({ world, random }: { world: World; random: Random }) {
  /** By address. */
  const listening = new Map<string, Listening>()
  const weather = new Map<string, Weather>()
  const wires = new Set<Wire>()
  let [ports, packets, dials] = [0, 0, 0]

  function delayOf(from: Machine, to: Pick<Machine, 'ip'>): number | undefined {
    packets++
    const { isCut, drop, delay } = weather.get(`${from.ip} ${to.ip}`) ?? FAIR
    if (isCut) return undefined
    let ms = random.between(delay.least, delay.most)
    for (let resend = RESEND_MS; random.chance(drop) && resend < 10_000; resend *= 2) ms += resend
    return ms
  }
  const parts: WireParts = { world, wires, delayOf }

  /** After a round trip. Over a broken link, or to nobody, only the timeout or the signal ends it. */
  async function connect(
    machine: Machine,
    { address, signal, log }: { address: Multiaddr; signal: AbortSignal; log: Logger },
  ): Promise<Wire> {
    const to = String(address).replace(/\/p2p\/.*/, '')
    const ip = OURS.exec(to)![1]!
    const there = await new Promise<Listening | undefined>((resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
      world.after(CONNECT_MS, () =>
        inLife(machine.life, () => reject(new ConnectionFailedError(`no answer from ${to}`))),
      )
      const [out, back] = [delayOf(machine, { ip }), delayOf({ ...machine, ip }, machine)]
      if (out === undefined || back === undefined) return
      world.after(out + back, () => {
        if (machine.life.isAlive) inLife(machine.life, () => resolve(listening.get(to)))
      })
    })
    if (!there?.machine.life.isAlive) throw new ConnectionFailedError(`nobody listens on ${to}`)
    signal.throwIfAborted()
    dials++
    const remoteAddr = multiaddr(`/ip4/${machine.ip}/tcp/${20_000 + (ports++ % 40_000)}`)
    const near = new Wire({ from: machine, to: there.machine, remoteAddr: address, log }, parts)
    const far = new Wire(
      { from: there.machine, to: machine, remoteAddr, log: there.log, isInbound: true },
      parts,
    )
    near.peer = far
    far.peer = near
    world.note(`${machine.name} connects to ${there.machine.name}`)
    inLife(there.machine.life, () => there.accept(far))
    return near
  }

  return {
    /** Packets sent so far. */
    get packets() {
      return packets
    },
    /** Connections opened so far. */
    get dials() {
      return dials
    },
    /** One direction of a link. */
    setWeather(from: Machine, to: Machine, is: Weather): void {
      weather.set(`${from.ip} ${to.ip}`, is)
      for (const wire of wires) if (wire.from === from && wire.to === to) wire.retry()
    },
    clearWeather(): void {
      weather.clear()
      for (const wire of wires) wire.retry()
    },
    /** Call when a machine dies. Its kernel resets its connections, unless the power was cut. */
    unplug(machine: Machine, isHeard: boolean): void {
      for (const [address, one] of listening) if (one.machine === machine) listening.delete(address)
      for (const wire of [...wires]) if (wire.from === machine) wire.die(isHeard)
    },

    transport:
      (machine: Machine) =>
      ({ logger }: Components): Transport => {
        const log = logger.forComponent('waggle:simulated-tcp')
        const ours = (addresses: Multiaddr[]) => addresses.filter((address) => OURS.test(String(address)))
        return {
          [transportSymbol]: true,
          [Symbol.toStringTag]: 'simulated-tcp',
          ...{ listenFilter: ours, dialFilter: ours },
          async dial(address: Multiaddr, options: DialTransportOptions): Promise<Connection> {
            options.signal.throwIfAborted()
            const wire = await connect(machine, { address, signal: options.signal, log })
            try {
              return await options.upgrader.upgradeOutbound(wire, options)
            } catch (error) {
              wire.abort(error as Error)
              throw error
            }
          },
          createListener: ({ upgrader }: CreateListenerOptions) =>
            new SimulatedListener({
              open: (address) =>
                listening.set(address, {
                  ...{ machine, log },
                  accept: (wire) =>
                    void upgrader
                      .upgradeInbound(wire, { signal: new AbortController().signal })
                      .catch((error: Error) => wire.abort(error)),
                }),
              close: (address) => listening.delete(address),
            }),
        }
      },
  }
}

class SimulatedListener extends TypedEventEmitter<ListenerEvents> implements Listener {
  private readonly by: { open(address: string): void; close(address: string): void }
  private readonly addresses: Multiaddr[] = []

  constructor(by: SimulatedListener['by']) {
    super()
    this.by = by
  }
  async listen(address: Multiaddr): Promise<void> {
    this.addresses.push(address)
    this.by.open(String(address))
    queueMicrotask(() => this.safeDispatchEvent('listening'))
  }
  getAddrs(): Multiaddr[] {
    return this.addresses
  }
  updateAnnounceAddrs(): void {}
  async close(): Promise<void> {
    for (const address of this.addresses.splice(0)) this.by.close(String(address))
    queueMicrotask(() => this.safeDispatchEvent('close'))
  }
}
