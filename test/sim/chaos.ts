// One seed: a few honest nodes, a few hostile ones, and a random part of all faults. First chaos, in which nothing unsafe
// may happen; then everything heals, and every honest node must learn and hear from the others again.

import { ACTOR_KINDS, type ActorKind, startActor } from './actors/index.ts'
import type { createChecks, Truth } from './checks.ts'
import { openExchanger } from './exchanger.ts'
import { identityFrom, type Signatures } from './identity.ts'
import { createNet, FAIR } from './net.ts'
import { createHonestNode, type HonestNode, type Planted } from './node/node.ts'
import { createWorld } from './world.ts'

export interface ChaosOptions {
  seed: number
  /** Virtual seconds of chaos, and of healing, which 0 leaves out. */
  chaosSeconds?: number
  healSeconds?: number
  planted?: Planted
  /** Default: stand-ins, which cost a hundredth. */
  signatures?: Signatures
  /** Only these faults; by default about half of all. */
  faults?: readonly Fault[]
  /** These hostile nodes; by default up to three of any kind. */
  actors?: readonly ActorKind[]
  /** Keep the lines of the trace. */
  isVerbose?: boolean
}

export interface ChaosReport {
  seed: number
  faults: readonly Fault[]
  actors: readonly ActorKind[]
  nodes: number
  breaches: readonly string[]
  /** SHA-256 of the trace. */
  trace: string
  lines: readonly string[]
  events: number
  virtualSeconds: number
  tally: ReturnType<typeof createChecks>['tally']
}

export const FAULTS = [
  'delays',
  'drops',
  'doubles',
  'partitions',
  'one-way cuts',
  'swizzled clogs',
  'slow nodes',
  'clock jumps',
  'kills',
  'power cuts',
  'power cut at an operation',
  'kill at an engine call',
  'bit rot',
  'full disk',
  'disk errors',
  'backups',
  'not a number',
  'engine failures',
  'verifier time-outs',
] as const
export type Fault = (typeof FAULTS)[number]

/** Least that each node must do while all is well, per virtual minute. */
const LIVELY = { steps: 4, heard: 1 }

export async function runChaos({
  seed,
  chaosSeconds = 120,
  healSeconds = 60,
  planted,
  signatures = 'stand-in',
  isVerbose = false,
  ...chosen
}: ChaosOptions): Promise<ChaosReport> {
  const world = createWorld({ seed })
  if (isVerbose) world.remember()
  const random = world.random('chaos')
  const net = createNet({ world, random: world.random('net') })
  const truth: Truth = { honest: new Set(), wrote: new Map(), heads: new Map() }
  const faults = chosen.faults ?? FAULTS.filter(() => random.chance(0.45))
  const kinds =
    chosen.actors ?? Array.from({ length: Math.floor(random.next() * 4) }, () => random.pick(ACTOR_KINDS))
  const nodes = Array.from({ length: 3 + Math.floor(random.next() * 2) }, (_, i) =>
    createHonestNode({ name: `n${i}`, signatures, ...(planted && { planted }) }, { world, net, truth }),
  )
  const relays = Array.from({ length: random.chance(0.3) ? 1 : 0 }, (_, i) => {
    const own = world.random(`relay ${i}`)
    const identity = identityFrom(own, signatures)
    truth.honest.add(identity.peerId)
    return openExchanger({ identity, random: own, signatures, relay: true }, { world, net })
  })
  /** Actors know the policy of the first node. */
  const spy = async () => nodes[0]!.living?.skill()
  const parts = { world, net, spy }
  const actors = kinds.flatMap((kind, i) => {
    if (kind !== 'crowd') return [startActor({ kind, name: `${kind} ${i}`, signatures }, parts)]
    const author = identityFrom(world.random(`crowd ${i}`), signatures)
    return [0, 1, 2].map((one) =>
      startActor({ kind, name: `${kind} ${i} ${one}`, author, signatures }, parts),
    )
  })
  const everybody = [...nodes, ...relays, ...actors].map(({ id }) => id)
  const byId = new Map(nodes.map((node) => [node.id, node]))
  net.admit((from, to) => {
    const relay = relays.find(({ id }) => id === to)
    if (relay) return !relay.exchange.reputation.isCut(from)
    const at = byId.get(to)
    return !at || (at.living !== undefined && !at.living.exchange.reputation.isCut(from))
  })
  world.note(
    `seed ${seed}: ${nodes.length} nodes, ${kinds.join(', ') || 'nobody hostile'}; ${faults.join(', ') || 'no faults'}`,
  )
  const onRejection = (reason: unknown): void =>
    world.breach(`a promise was rejected and nobody cared: ${(reason as Error)?.stack ?? reason}`)
  process.on('unhandledRejection', onRejection)

  for (const relay of relays) void relay.exchange.start()
  for (const node of nodes) node.boot()
  const dial = (): void => {
    for (const [i, a] of everybody.entries()) for (const b of everybody.slice(i + 1)) net.connect(a, b)
    for (const { exchange } of relays)
      for (const { id, name } of nodes)
        if (exchange.reputation.isCut(id)) world.breach(`a relay has cut off the honest ${name}`)
    world.after(3000, dial)
  }
  dial()

  let isChaos = true
  const strike = (): void => {
    world.after(random.between(1000, 12_000), () => {
      if (!isChaos) return
      if (faults.length > 0) disturb(random.pick(faults))
      strike()
    })
  }

  function disturb(fault: Fault): void {
    const node = random.pick(nodes)
    const others = everybody.filter((id) => id !== node.id)
    const lasting = random.between(2000, 40_000)
    world.note(`chaos: ${fault} at ${node.name}`)
    const wait = (undo: () => void): void => void world.after(lasting, undo)
    const storm = (weather: Partial<typeof FAIR>, isBothWays: boolean, to: readonly string[]): void => {
      for (const other of to) {
        net.setWeather(node.id, other, { ...FAIR, ...weather })
        if (isBothWays) net.setWeather(other, node.id, { ...FAIR, ...weather })
      }
      const isNoticed = weather.isCut === true && lasting > NOTICE_MS
      if (isNoticed)
        world.after(NOTICE_MS, () => {
          for (const other of to) net.disconnect(node.id, other)
        })
      wait(() => {
        for (const other of to) {
          net.setWeather(node.id, other, FAIR)
          net.setWeather(other, node.id, FAIR)
          node.mended(other)
          byId.get(other)?.mended(node.id)
        }
      })
    }
    const some = others.filter(() => random.chance(0.6))
    const act: Record<Fault, () => void> = {
      delays: () => storm({ delay: { least: 50, most: random.between(200, 9000) } }, true, some),
      drops: () => storm({ drop: random.between(0.05, 0.6) }, true, some),
      doubles: () => storm({ double: random.between(0.1, 0.9) }, true, some),
      partitions: () => storm({ isCut: true }, true, some),
      'one-way cuts': () => storm({ isCut: true }, false, some),
      'swizzled clogs': () => {
        const clogged = everybody.filter(() => random.chance(0.5))
        let at = 0
        const one = (id: string, isOn: boolean): void => {
          at += random.between(100, 1500)
          world.after(at, () => clog(id, isOn))
        }
        for (const id of clogged) one(id, true)
        for (const id of random.shuffled(clogged)) one(id, false)
      },
      'slow nodes': () => {
        node.weather.slowness = random.between(2, 20)
        wait(() => Object.assign(node.weather, { slowness: 1 }))
      },
      'clock jumps': () => {
        node.setClock(random.between(-1, 1) * random.pick([1000, 60_000, 3_600_000]))
        wait(() => node.setClock(0))
      },
      kills: () => fall(node, false),
      'power cuts': () => fall(node, true),
      'power cut at an operation': () => {
        node.weather.stepsToLive = 1 + Math.floor(random.next() * 60)
        wait(() => node.boot())
      },
      'kill at an engine call': () => {
        node.weather.callsToLive = 1 + Math.floor(random.next() * 60)
        wait(() => node.boot())
      },
      'bit rot': () => node.rot(),
      'full disk': () => {
        node.weather.disk = { share: 1, code: 'ENOSPC' }
        wait(() => Object.assign(node.weather, { disk: undefined }))
      },
      'disk errors': () => {
        node.weather.disk = { share: random.between(0.01, 0.5), code: 'EIO' }
        wait(() => Object.assign(node.weather, { disk: undefined }))
      },
      backups: () => {
        node.backUp()
        world.after(random.between(100, 20_000), () => node.boot())
      },
      'not a number': () => {
        node.weather.nan = random.between(0.02, 0.5)
        wait(() => Object.assign(node.weather, { nan: 0 }))
      },
      'engine failures': () => {
        node.weather.fails = random.between(0.05, 0.5)
        wait(() => Object.assign(node.weather, { fails: 0 }))
      },
      'verifier time-outs': () => {
        node.weather.verifier = random.between(0.05, 0.9)
        wait(() => Object.assign(node.weather, { verifier: 0 }))
      },
    }
    act[fault]()
  }

  /** Nothing comes or goes, and nobody is told. */
  function clog(id: string, isOn: boolean): void {
    world.note(`${isOn ? 'clogged' : 'unclogged'}: ${id.slice(-6)}`)
    for (const other of everybody) {
      if (other === id) continue
      net.setWeather(id, other, { ...FAIR, isCut: isOn })
      net.setWeather(other, id, { ...FAIR, isCut: isOn })
      if (isOn) continue
      byId.get(id)?.mended(other)
      byId.get(other)?.mended(id)
    }
  }

  function fall(node: HonestNode, isPower: boolean): void {
    node.kill(isPower)
    world.after(random.between(100, 20_000), () => node.boot())
  }

  strike()
  try {
    await world.run(chaosSeconds * 1000)
    if (world.breaches.length === 0 && healSeconds > 0) await heal()
  } finally {
    process.off('unhandledRejection', onRejection)
  }

  async function heal(): Promise<void> {
    isChaos = false
    world.note('chaos is over')
    net.clearWeather()
    for (const node of nodes) {
      Object.assign(node.weather, { disk: undefined, nan: 0, fails: 0, verifier: 0, slowness: 1 })
      node.setClock(0)
      node.weather.stepsToLive = node.weather.callsToLive = Number.POSITIVE_INFINITY
      node.boot()
    }
    // What was under way may fail once more; then, everything counts.
    await world.run((chaosSeconds + SETTLE_S) * 1000)
    const before = nodes.map(({ checks }) => ({ ...checks.tally }))
    await world.run((chaosSeconds + SETTLE_S + healSeconds) * 1000)
    if (world.breaches.length > 0) return
    const minutes = healSeconds / 60
    for (const [i, { name, checks, living }] of nodes.entries()) {
      const [steps, foreign, heads] = (['steps', 'foreign', 'heads'] as const).map(
        (what) => checks.tally[what] - before[i]![what],
      )
      // Groups of peers whose weights are averaged are not verified, so they do not arrive.
      const heard = foreign! + heads!
      if (!living) world.breach(`${name} does not live although all is well`)
      else if (steps! < LIVELY.steps * minutes)
        world.breach(`${name} made ${steps} steps in ${healSeconds} s although all is well`)
      else if (heard < LIVELY.heard * minutes && !living.isTrying())
        world.breach(`${name} got ${heard} groups and heads in ${healSeconds} s although all is well`)
    }
  }

  const tally = { lives: 0, steps: 0, saves: 0, foreign: 0, admitted: 0, heads: 0 }
  for (const { checks } of nodes)
    for (const what of Object.keys(tally) as (keyof typeof tally)[]) tally[what] += checks.tally[what]
  return {
    ...{ seed, faults, actors: kinds, nodes: nodes.length, tally },
    ...{ breaches: world.breaches, trace: world.digest(), lines: world.lines },
    ...{ events: world.events, virtualSeconds: world.time / 1000 },
  }
}

/** As long as the daemon takes to notice a dead connection. */
const NOTICE_MS = 35_000
/** After the chaos, before liveness counts: longer than the longest retry. */
const SETTLE_S = 45
