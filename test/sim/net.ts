// A network in a simulation: who is connected with whom, gossip over these connections, and requests. Links lose, double,
// delay and reorder what is sent, each direction for itself. Gossip is eager: what a node accepts, it passes on to all its
// neighbours, as gossipsub does in its mesh.

import { createHash } from 'node:crypto'
import { TopicValidatorResult } from '@libp2p/gossipsub'
import type { GossipGuard } from '../../daemon/swarm/gossip/internals.ts'
import type { Answer, Requests } from '../../daemon/swarm/libp2p/streams.ts'
import type { Life } from './node/disk.ts'
import type { Random, World } from './world.ts'

/** One direction of a link. */
export interface Weather {
  /** Nothing arrives. */
  isCut: boolean
  drop: number
  double: number
  /** ms */
  delay: { least: number; most: number }
}

export const FAIR: Weather = { isCut: false, drop: 0, double: 0, delay: { least: 5, most: 60 } }

/** What a node, honest or not, does with what arrives. */
export interface Endpoint {
  onGossip(from: string, data: Uint8Array): void
  onQuestion(
    from: string,
    protocol: string,
    question: Uint8Array,
  ): AsyncIterable<Uint8Array> | Iterable<Uint8Array>
  onConnected(peer: string): void
  onDisconnected(peer: string): void
}

export interface Traffic {
  messages: number
  bytes: number
}

export type Net = ReturnType<typeof createNet>

export function createNet({ world, random }: { world: World; random: Random }) {
  const endpoints = new Map<string, Endpoint>()
  const links = new Map<string, Set<string>>()
  const weather = new Map<string, Weather>()
  const traffic = new Map<string, Traffic>()
  let isOpen = (_from: string, _to: string): boolean => true

  const neighbours = (id: string): ReadonlySet<string> => links.get(id) ?? new Set()
  const weatherOf = (from: string, to: string): Weather => weather.get(`${from} ${to}`) ?? FAIR

  /** Delivers something after a delay, if the link still stands then; maybe never, and gossip maybe twice. */
  function carry(
    { from, to, bytes, isGossip }: { from: string; to: string; bytes: number; isGossip: boolean },
    arrive: (at: Endpoint) => void,
  ): void {
    const { isCut, drop, double, delay } = weatherOf(from, to)
    const count = traffic.get(from) ?? { messages: 0, bytes: 0 }
    traffic.set(from, { messages: count.messages + 1, bytes: count.bytes + bytes })
    if (isCut || random.chance(drop)) return
    for (let copies = random.chance(double) && isGossip ? 2 : 1; copies > 0; copies--)
      world.after(random.between(delay.least, delay.most), () => {
        const endpoint = endpoints.get(to)
        if (endpoint && neighbours(from).has(to)) arrive(endpoint)
      })
  }

  function disconnect(a: string, b: string): void {
    if (!neighbours(a).has(b)) return
    links.get(a)?.delete(b)
    links.get(b)?.delete(a)
    endpoints.get(a)?.onDisconnected(b)
    endpoints.get(b)?.onDisconnected(a)
  }

  return {
    traffic: traffic as ReadonlyMap<string, Traffic>,
    neighbours,
    /** Whether two nodes may connect; decided anew whenever one tries. */
    admit(rule: (from: string, to: string) => boolean): void {
      isOpen = rule
    },
    add(id: string, endpoint: Endpoint): void {
      endpoints.set(id, endpoint)
    },
    /** The node is gone; its peers notice. */
    remove(id: string): void {
      endpoints.delete(id)
      for (const peer of [...neighbours(id)]) disconnect(id, peer)
    },
    connect(a: string, b: string): void {
      if (a === b || neighbours(a).has(b) || !endpoints.has(a) || !endpoints.has(b)) return
      if (!isOpen(a, b) || !isOpen(b, a)) return
      for (const [one, other] of [
        [a, b],
        [b, a],
      ] as const) {
        const peers = links.get(one) ?? new Set()
        peers.add(other)
        links.set(one, peers)
      }
      endpoints.get(a)?.onConnected(b)
      endpoints.get(b)?.onConnected(a)
    },
    disconnect,
    setWeather(from: string, to: string, is: Weather): void {
      weather.set(`${from} ${to}`, is)
    },
    clearWeather: () => weather.clear(),
    gossip(from: string, to: string, data: Uint8Array): void {
      carry({ from, to, bytes: data.length, isGossip: true }, (at) => at.onGossip(from, data))
    },

    /** The requests that a node makes and answers. `record` counts them. */
    requests(
      self: string,
      record: { sent(peer: string, bytes: number): void; received(peer: string, bytes: number): void },
      life: Life,
    ): Requests & { answer: Endpoint['onQuestion'] } {
      const answers = new Map<string, Answer>()
      return {
        isConnected: (peer) => life.isAlive && neighbours(self).has(peer),
        async serve({ protocol }, answer) {
          answers.set(protocol, answer)
        },
        answer(from, protocol, question) {
          record.received(from, question.length)
          return answers.get(protocol)?.(question, from) ?? []
        },
        async *ask({ peer, protocol, question }, { maxMessage, signal }) {
          if (!life.isAlive || !neighbours(self).has(peer)) throw new Error('not connected')
          const arrived: Uint8Array[] = []
          let [isDone, wake] = [false, (): void => {}]
          record.sent(peer, question.length)
          // A stream carries a question once, or not at all.
          carry({ from: self, to: peer, bytes: question.length, isGossip: false }, (at) => {
            void deliver(at.onQuestion(self, protocol, question))
          })
          /** Messages of an answer arrive in order: they share a stream. */
          async function deliver(answer: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<void> {
            let latest = world.time
            const send = (run: () => void, bytes: number): void => {
              const { isCut, drop, delay } = weatherOf(peer, self)
              const count = traffic.get(peer) ?? { messages: 0, bytes: 0 }
              traffic.set(peer, { messages: count.messages + 1, bytes: count.bytes + bytes })
              if (isCut || random.chance(drop)) return
              latest = Math.max(latest, world.time + random.between(delay.least, delay.most))
              world.after(latest - world.time, () => {
                run()
                wake()
              })
            }
            try {
              for await (const message of answer) send(() => void arrived.push(message), message.length)
            } catch {
              // An invalid request: the stream is aborted.
            }
            send(() => {
              isDone = true
            }, 0)
          }
          for (;;) {
            const message = arrived.shift()
            if (message !== undefined) {
              if (message.length > maxMessage) throw new Error('the message is too long')
              record.received(peer, message.length)
              yield message
              continue
            }
            if (isDone || signal?.aborted) return
            const isTimely = await new Promise<boolean>((resolve) => {
              const cancel = world.after(STEP_TIMEOUT_MS, () => resolve(false))
              wake = () => {
                cancel()
                resolve(true)
              }
            })
            if (!isTimely) throw new Error('the peer did not answer in time')
          }
        },
      }
    },
  }
}

/** As in libp2p/streams.ts. */
const STEP_TIMEOUT_MS = 10_000

const SEEN = 4096

/** A node's gossip: what gossipsub does between its guard, its validator and its mesh. */
export function createGossip(
  { self, life }: { self: string; life: Life },
  by: {
    net: Net
    guard(): GossipGuard
    validate(
      source: string,
      message: { data: Uint8Array },
    ): TopicValidatorResult | Promise<TopicValidatorResult>
    onVerdict(source: string, id: string, verdict: TopicValidatorResult): void
  },
) {
  const seen = new Set<string>()
  const isNew = (id: string): boolean => {
    if (seen.has(id)) return false
    if (seen.size >= SEEN) seen.delete(seen.values().next().value!)
    seen.add(id)
    return true
  }
  const spread = (data: Uint8Array, except?: string): number => {
    const to = !life.isAlive ? [] : [...by.net.neighbours(self)].filter((peer) => peer !== except)
    for (const peer of to) {
      by.guard().sent(peer, data.length)
      by.net.gossip(self, peer, data)
    }
    return to.length
  }
  return {
    gossip: {
      async publish(data: Uint8Array) {
        isNew(idOf(data))
        return spread(data)
      },
      forget: ({ data }: { data: Uint8Array }) => void seen.delete(idOf(data)),
    },
    receive(from: string, data: Uint8Array): void {
      const guard = by.guard()
      if (!guard.frame(from, data.length) || !guard.rpc(from, { messages: 1, control: 0 })) return
      const id = idOf(data)
      if (!isNew(id)) return
      const conclude = (verdict: TopicValidatorResult): void => {
        by.onVerdict(from, id, verdict)
        if (verdict === TopicValidatorResult.Accept) spread(data, from)
      }
      const verdict = by.validate(from, { data })
      if (verdict instanceof Promise) void verdict.then(conclude)
      else conclude(verdict)
    },
  }
}

/** All nodes of a simulation pass on the same bytes. */
const ids = new WeakMap<Uint8Array, string>()

export function idOf(data: Uint8Array): string {
  const id = ids.get(data) ?? createHash('sha256').update(data).digest('hex').slice(0, 16)
  ids.set(data, id)
  return id
}
