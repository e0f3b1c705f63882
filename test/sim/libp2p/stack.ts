// Whole swarms on the real libp2p: noise, yamux, identify, gossipsub, the DHT, and all of daemon/swarm, with time,
// chance and TCP simulated. Nodes write groups; links lose, delay and break; nodes die and come back. Then everything
// heals, and what is written from then on must reach everybody.

import { createPrivateKey } from 'node:crypto'
// The daemon loads it when it is needed; reading a file would take real time.
import '../../../daemon/swarm/libp2p/host-wide.ts'
import type { Swarm } from '../../../daemon/swarm/contract.ts'
import { identityOf } from '../../../daemon/swarm/peers/identity.ts'
import { createSwarm } from '../../../daemon/swarm/swarm.ts'
import { contentId } from '../../../protocol/wire/index.ts'
import { draftOf, mixedTexts } from '../actors/tools.ts'
import { contentOf } from '../checks.ts'
import { FAIR } from '../net.ts'
import { codec, even, MAX_TOKENS } from '../policy.ts'
import { createWorld, EPOCH } from '../world.ts'
import { inLife, replaceGlobals } from './globals.ts'
import { createCables } from './transport.ts'
import type { Machine } from './wire.ts'

export interface StackOptions {
  seed: number
  nodes: number
  /** So many more, which say that they have the same tasks, and neither write groups nor pass any on. */
  silent?: number
  /** Virtual seconds: to find one another, of chaos, of healing, and in which what is written must reach everybody. */
  meetSeconds?: number
  chaosSeconds?: number
  healSeconds?: number
  countSeconds?: number
  /** Seconds between two groups of a node. */
  every?: number
  /** Find peers by the DHT and through relays, as the daemon does by default. */
  wide?: boolean
  isVerbose?: boolean
}

/** What is written must have arrived so much later. */
const ARRIVAL_MS = 5000
const PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex')

export async function runStack({
  seed,
  nodes: count,
  silent = 0,
  meetSeconds = 30,
  chaosSeconds = 60,
  healSeconds = 120,
  countSeconds = 20,
  every = 5,
  wide = true,
  isVerbose = false,
}: StackOptions) {
  const world = createWorld({ seed: `libp2p ${seed}` })
  if (isVerbose) world.remember()
  const random = world.random('stack')
  const cables = createCables({ world, random: world.random('cables') })
  const putBack = replaceGlobals(world)
  const onRejection = (reason: unknown): void =>
    world.breach(`a promise was rejected and nobody cared: ${(reason as Error)?.stack ?? reason}`)
  process.on('unhandledRejection', onRejection)

  const nodes = Array.from({ length: count }, (_, i) => createNode(i))
  const mutes = Array.from({ length: silent }, (_, i) => createNode(count + i, true))
  type Node = ReturnType<typeof createNode>
  /** By content: who has it, and who was there when it was written. */
  const counted = new Map<string, { at: number; missing: Set<string> }>()
  const tally = { deaths: 0, groups: 0, delivered: 0, latestMs: 0 }
  let isCounting = false

  function createNode(i: number, isSilent = false) {
    const own = world.random(`node ${i}`)
    const name = `n${i}`
    const identity = identityOf(
      createPrivateKey({ key: Buffer.concat([PKCS8, own.bytes(32)]), format: 'der', type: 'pkcs8' }),
    )
    const ip = `51.${1 + (i >> 8)}.${i & 255}.1`
    const address = `/ip4/${ip}/tcp/4001`
    let machine: Machine = { name, ip, life: { isAlive: false } }
    let swarm: Swarm | undefined

    async function boot(): Promise<void> {
      if (machine.life.isAlive) return
      const life = { isAlive: true }
      machine = { name, ip, life }
      world.note(`${name} boots`)
      await inLife(life, async () => {
        const after = (ms: number, run: () => void) =>
          world.after(ms, () => life.isAlive && inLife(life, run))
        const opened = await createSwarm(
          {
            ...{ swarm: 'sim', listen: [address], lan: 'off', wide, maxCompletionTokens: MAX_TOKENS },
            // Three nodes that came before it, as an invite would name.
            bootstrap: (isSilent ? nodes : nodes.slice(Math.max(0, i - 3), i)).map(({ at }) => at),
            tasks: [{ name: even.name, version: even.version }],
          },
          {
            ...{ identity, codec, transport: cables.transport(machine), random: own.next },
            clock: { now: () => Math.floor(EPOCH + world.time), after },
            log: (level, message) => level !== 'debug' && world.note(`${name} ${level} ${message}`),
            tasks: { find: (task) => (task === even.name && !isSilent ? even : undefined) },
            version: () => 1,
            onGroup: (group) => arrived(name, contentOf(group)),
            onEvent: (event) => world.note(`${name} ${JSON.stringify(event)}`),
          },
        )
        await opened.start()
        if (!life.isAlive) return
        swarm = opened
        const write = (): void => {
          const draft = draftOf(own, mixedTexts(own))
          const id = contentId(
            draft.prompt,
            draft.rollouts.map(({ text }) => text),
          )
          void opened.publish({ ...draft, id }).then(
            () => written(name, id),
            (error: Error) => world.note(`${name} cannot publish: ${error.message}`),
          )
          after(every * 1000 * own.between(0.5, 1.5), write)
        }
        if (!isSilent) after(every * 1000 * own.next(), write)
      })
    }

    return {
      ...{ name, ip, boot, at: `${address}/p2p/${identity.peerId}`, peerId: identity.peerId },
      get machine() {
        return machine
      },
      get swarm() {
        return machine.life.isAlive ? swarm : undefined
      },
      kill(isPower: boolean): void {
        if (!machine.life.isAlive) return
        world.note(`${name} dies`)
        tally.deaths++
        machine.life.isAlive = false
        swarm = undefined
        cables.unplug(machine, !isPower)
      },
    }
  }

  function written(author: string, id: string): void {
    world.note(`${author} wrote ${id.slice(0, 8)}`)
    tally.groups++
    if (!isCounting) return
    const others = nodes.filter(({ name, swarm }) => swarm && name !== author).map(({ name }) => name)
    counted.set(id, { at: world.time, missing: new Set(others) })
  }

  function arrived(name: string, id: string): void {
    world.note(`${name} has ${id.slice(0, 8)}`)
    tally.delivered++
    const one = counted.get(id)
    if (one?.missing.delete(name)) tally.latestMs = Math.max(tally.latestMs, Math.round(world.time - one.at))
  }

  function disturb(): void {
    const node = random.pick(nodes)
    const lasting = random.between(2000, 40_000)
    const some = nodes.filter((other) => other !== node && random.chance(0.6))
    const storm = (what: Partial<typeof FAIR>, isBothWays: boolean, to: readonly Node[]): void => {
      for (const other of to) {
        cables.setWeather(node.machine, other.machine, { ...FAIR, ...what })
        if (isBothWays) cables.setWeather(other.machine, node.machine, { ...FAIR, ...what })
      }
      world.after(lasting, () => {
        for (const other of to) {
          cables.setWeather(node.machine, other.machine, FAIR)
          cables.setWeather(other.machine, node.machine, FAIR)
        }
      })
    }
    const faults = {
      drops: () => storm({ drop: random.between(0.05, 0.5) }, true, some),
      delays: () => storm({ delay: { least: 50, most: random.between(200, 4000) } }, true, some),
      'one-way cuts': () => storm({ isCut: true }, false, some),
      'a node is cut off': () =>
        storm(
          { isCut: true },
          true,
          nodes.filter((other) => other !== node),
        ),
      'the swarm parts': () => {
        const half = nodes.filter(() => random.chance(0.5))
        const rest = nodes.filter((one) => !half.includes(one))
        const set = (weather: typeof FAIR): void => {
          for (const a of half)
            for (const b of rest) {
              cables.setWeather(a.machine, b.machine, weather)
              cables.setWeather(b.machine, a.machine, weather)
            }
        }
        set({ ...FAIR, isCut: true })
        world.after(lasting, () => set(FAIR))
      },
      'a kill': () => fall(node, false),
      'a power cut': () => fall(node, true),
    }
    const fault = random.pick(Object.keys(faults) as (keyof typeof faults)[])
    world.note(`chaos: ${fault} at ${node.name}`)
    faults[fault]()
  }

  function fall(node: Node, isPower: boolean): void {
    node.kill(isPower)
    world.after(random.between(500, 20_000), () => void node.boot())
  }

  try {
    // Those who eclipse are there first.
    for (const [i, node] of [nodes[0]!, ...mutes, ...nodes.slice(1)].entries())
      world.after(100 * i, () => void node.boot())
    await world.run(meetSeconds * 1000)
    let isChaos = true
    const strike = (): void => {
      world.after(random.between(1000, 8000) / Math.max(1, count / 8), () => {
        if (!isChaos) return
        disturb()
        strike()
      })
    }
    strike()
    await world.run((meetSeconds + chaosSeconds) * 1000)
    isChaos = false
    world.note('chaos is over')
    cables.clearWeather()
    for (const node of nodes) void node.boot()
    const healed = (meetSeconds + chaosSeconds + healSeconds) * 1000
    await world.run(healed)
    isCounting = true
    const before = { packets: cables.packets, dials: cables.dials }
    await world.run(healed + countSeconds * 1000)
    isCounting = false
    const packets = (cables.packets - before.packets) / count / countSeconds
    const calmDials = cables.dials - before.dials
    await world.run(healed + countSeconds * 1000 + ARRIVAL_MS)
    for (const [id, { missing }] of counted)
      if (missing.size > 0) world.breach(`${id.slice(0, 8)} did not reach ${[...missing].join(', ')}`)
    for (const { name, swarm } of nodes) {
      if (!swarm) world.breach(`${name} does not live although all is well`)
      else if (swarm.counters().connected === 0) world.breach(`${name} is alone although all is well`)
    }
    return {
      ...{ seed, nodes: count, virtualSeconds: world.time / 1000, events: world.events },
      ...{
        ...tally,
        counted: counted.size,
        packetsPerNodeSecond: Number(packets.toFixed(1)),
        /** Connections opened in all, and while groups were counted, when all was well. */
        ...{ dials: cables.dials, calmDials },
        trace: world.digest(),
        breaches: world.breaches,
      },
      links: nodes.map(({ swarm }) => swarm?.counters().connected ?? 0).sort((a, b) => a - b),
      lines: world.lines,
    }
  } finally {
    for (const node of [...nodes, ...mutes]) node.kill(true)
    process.off('unhandledRejection', onRejection)
    putBack()
  }
}
