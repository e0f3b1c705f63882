// A founder that trusts nobody, and volunteers who trust the founder: some train as they should, others say that their
// steps led elsewhere.

import { peerName } from '../../protocol/text.ts'
import { AUDIT_SECONDS } from './audits.ts'
import type { Truth } from './checks.ts'
import { createNet } from './net.ts'
import { config, createHonestNode, type Forge } from './node/node.ts'
import { createWorld } from './world.ts'

/** Until then a forger trains as it should. */
export const TURN_MS = 150_000

const FORGED = {
  'sign flipped': ({ before, after }) => 2 * before - after,
  'ten times': ({ before, after }) => before + 10 * (after - before),
  random: ({ before, after, random }) => before + random.between(-4, 4) * Math.abs(after - before),
  'nothing learnt': ({ before, after }) => before + 1e-4 * (after - before),
  'drift of a tenth': ({ before, after }) => after - 0.1 * Math.abs(after - before),
  'all wrong at once': () => -8,
  'one step of ten, ten times': ({ before, after, random }) =>
    random.chance(0.1) ? before - 10 * Math.abs(after - before) : after,
} satisfies Record<string, Forge>
export type StrangerKind = keyof typeof FORGED
export const STRANGER_KINDS = Object.keys(FORGED) as StrangerKind[]

export interface StrangersOptions {
  seed: number
  honest: number
  liars?: number
  kind?: StrangerKind
  /** Whether the founder trusts its volunteers, audits them, or takes nobody's weights. */
  weights?: 'trusted' | 'audited' | 'off'
  /** Whether nodes train on one another's rollouts. */
  shares?: boolean
  seconds?: number
  isVerbose?: boolean
  /** Processor seconds of an audit, where a step takes 3.2; few make a test short. */
  auditSeconds?: number
}

export interface StrangersCourse {
  breaches: readonly string[]
  lines: readonly string[]
  /** The founder's skill every two virtual seconds, and its mean in the last minute. */
  skills: number[]
  end: number
  /**
   * Of each liar: forged steps until it was found, draws that it passed and times that its weights were taken since the
   * first, and whether it counts nothing.
   */
  liars: {
    forged: number
    draws: number
    taken: number
    isFound: boolean
    isOff: boolean
    seconds: number
  }[]
  /** Honest volunteers who were accused. */
  accused: number
  /** What each honest volunteer counts for at the end, and its draws. */
  rungs: { passed: number; weight: number }[]
  /** When each of them that counted did so first, s. */
  climbed: number[]
  /** Processor time of the founder's audits, as a share. */
  cost: number
}

export async function runStrangers({
  seed,
  honest,
  liars = 0,
  kind = 'sign flipped',
  weights = 'audited',
  shares = true,
  seconds = 600,
  isVerbose = false,
  auditSeconds = AUDIT_SECONDS,
}: StrangersOptions): Promise<StrangersCourse> {
  const world = createWorld({ seed })
  if (isVerbose) world.remember()
  const net = createNet({ world, random: world.random('net') })
  const truth: Truth = { honest: new Set(), wrote: new Map(), heads: new Map(), turncoats: new Set() }
  const settingsOf = (): typeof config => ({
    ...config,
    training: { ...config.training, learning_rate: 0.02, ...(!shares && { max_peer_groups: 0 }) },
    swarm: { ...config.swarm, audits: true, trust: [] },
  })
  const forged = Array.from({ length: liars }, () => ({ steps: 0, first: 0 }))
  const forgeOf =
    (i: number): Forge =>
    (step) => {
      if (step.time < TURN_MS) return step.after
      const said = FORGED[kind](step)
      if (said !== step.after) {
        forged[i]!.steps++
        forged[i]!.first ||= step.time
      }
      return said
    }
  const common = { signatures: 'stand-in', isPublic: true, auditSeconds } as const
  const settings = settingsOf()
  settings.swarm.weights = weights
  const founder = createHonestNode({ ...common, name: 'founder', settings }, { world, net, truth })
  const volunteers = Array.from({ length: honest + liars }, (_, i) => {
    const own = settingsOf()
    own.swarm.trust = [founder.id]
    const planted = i < honest ? {} : { forge: forgeOf(i - honest) }
    return createHonestNode({ ...common, name: `v${i}`, settings: own, planted }, { world, net, truth })
  })
  if (weights === 'trusted') settings.swarm.trust = volunteers.map(({ id }) => id)
  const skills: number[] = []
  const found = forged.map(() => ({
    forged: 0,
    draws: 0,
    taken: 0,
    isFound: false,
    isOff: false,
    seconds: 0,
  }))
  const passed = forged.map(() => ({ atFirst: 0, now: 0, taken: 0 }))
  const climbed = new Map<string, number>()
  const accused = new Set<string>()
  const watch = async (): Promise<void> => {
    skills.push((await founder.living?.skill()) ?? 0)
    const list = founder.living?.ladder.list() ?? []
    for (const { author, weight } of list)
      if (weight > 0 && !climbed.has(author)) climbed.set(author, world.time / 1000)
    const taken = (id: string): number => founder.living?.taken.get(id) ?? 0
    for (const [i, { id }] of volunteers.slice(honest).entries()) {
      if (forged[i]!.first === 0) passed[i]!.taken = taken(id)
      const now = list.find(({ author }) => author === id)?.passed
      if (now === undefined) continue
      passed[i]!.now = now
      if (forged[i]!.first === 0) passed[i]!.atFirst = now
    }
    const failed = (founder.living?.alerts() ?? []).filter(({ message }) =>
      message.includes('failed an audit'),
    )
    for (const [i, { id }] of volunteers.entries()) {
      if (!failed.some(({ message }) => message.includes(peerName(id)))) continue
      const of = found[i - honest]
      if (!of) accused.add(id)
      else if (!of.isFound)
        Object.assign(of, {
          ...{ isFound: true, forged: forged[i - honest]!.steps },
          draws: passed[i - honest]!.now - passed[i - honest]!.atFirst,
          taken: taken(id) - passed[i - honest]!.taken,
          seconds: (world.time - forged[i - honest]!.first) / 1000,
        })
    }
  }
  const dial = (): void => {
    for (const { id } of volunteers) net.connect(founder.id, id)
    world.after(3000, dial)
  }
  const look = (): void => {
    void watch()
    world.after(2000, look)
  }
  founder.boot()
  for (const one of volunteers) one.boot()
  dial()
  look()
  await world.run(1000 * seconds)
  const list = founder.living?.ladder.list() ?? []
  const last = skills.slice(-30)
  for (const [i, { id }] of volunteers.slice(honest).entries())
    found[i]!.isOff = founder.living?.ladder.weight(id) === 0
  return {
    ...{ breaches: world.breaches, lines: world.lines, skills, liars: found, accused: accused.size },
    climbed: volunteers.slice(0, honest).flatMap(({ id }) => climbed.get(id) ?? []),
    cost: founder.living?.auditCost()?.share ?? 0,
    end: last.reduce((a, b) => a + b, 0) / last.length,
    rungs: volunteers
      .slice(0, honest)
      .map(({ id }) => list.find(({ author }) => author === id) ?? { passed: 0, weight: 0 }),
  }
}
