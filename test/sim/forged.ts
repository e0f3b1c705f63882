// Honest nodes beside trusted peers whose weights are good at first, so that they are averaged, and forged later.

import { type ForgedKind, TURN_MS } from './actors/forgers.ts'
import { startActor } from './actors/index.ts'
import type { Truth } from './checks.ts'
import { createNet } from './net.ts'
import { config, createHonestNode } from './node/node.ts'
import { createWorld } from './world.ts'

export interface ForgedOptions {
  seed: number
  honest?: number
  liars?: number
  kind?: ForgedKind
  /** Virtual seconds. */
  seconds?: number
  isVerbose?: boolean
}

/** An honest node's skill. */
export interface Course {
  /** Every two virtual seconds, from the turn on. */
  skills: number[]
  /** At the turn. */
  before: number
  least: number
  /** Virtual seconds in which it was lower than at the turn by more than chance. */
  below: number
  /** Mean of the last minute. */
  end: number
}

const LOOK_S = 2
const CHANCE = 0.1
/** Fast enough that a fall shows in few answers. */
const settings = {
  ...config,
  training: { ...config.training, learning_rate: 0.02 },
  eval: { ...config.eval, prompts_per_task: 8 },
}

export async function runForged({
  seed,
  honest = 2,
  liars = 2,
  kind = 'all wrong',
  seconds = 450,
  isVerbose = false,
}: ForgedOptions): Promise<{ breaches: readonly string[]; lines: readonly string[]; nodes: Course[] }> {
  const world = createWorld({ seed })
  if (isVerbose) world.remember()
  const net = createNet({ world, random: world.random('net') })
  const truth: Truth = { honest: new Set(), wrote: new Map(), heads: new Map(), turncoats: new Set() }
  const signatures = 'stand-in'
  const nodes = Array.from({ length: honest }, (_, i) =>
    createHonestNode({ name: `n${i}`, signatures, settings }, { world, net, truth }),
  )
  const skills = () => Promise.all(nodes.map(async ({ living }) => (await living?.skill()) ?? 0))
  const spy = async () => {
    const all = await skills()
    return kind === 'average back' ? mean(all) : all[0]!
  }
  const actors = Array.from({ length: liars }, (_, i) =>
    startActor({ kind, name: `liar ${i}`, signatures }, { world, net, spy }),
  )
  for (const { id } of actors) truth.turncoats!.add(id)
  for (const node of nodes) node.boot()
  const everybody = [...nodes, ...actors].map(({ id }) => id)
  const dial = (): void => {
    for (const a of everybody) for (const b of everybody) net.connect(a, b)
    world.after(3000, dial)
  }
  dial()
  const seen: number[][] = []
  const look = (): void => {
    void skills().then((all) => seen.push(all))
    world.after(1000 * LOOK_S, look)
  }
  await world.run(TURN_MS)
  look()
  await world.run(seconds * 1000)
  return {
    ...{ breaches: world.breaches, lines: world.lines },
    nodes: nodes.map((_, i) => courseOf(seen.map((all) => all[i]!))),
  }
}

function courseOf(skills: number[]): Course {
  const before = skills[0]!
  return {
    ...{ skills, before },
    least: Math.min(...skills),
    below: LOOK_S * skills.filter((skill) => skill < before - CHANCE).length,
    end: mean(skills.slice(-60 / LOOK_S)),
  }
}

const mean = (of: readonly number[]): number => of.reduce((a, b) => a + b, 0) / of.length
