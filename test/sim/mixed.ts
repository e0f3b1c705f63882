// Nodes of unlike speed that trust each other and average their weights.

import type { Truth } from './checks.ts'
import { createNet } from './net.ts'
import { config, createHonestNode } from './node/node.ts'
import { createWorld } from './world.ts'

export interface MixedOptions {
  seed: number
  /** Of each node: how many times as long as usual everything takes. */
  slowness: readonly number[]
  /** Virtual seconds. */
  seconds: number
  /** No node hears of another. */
  isApart?: boolean
}

/** As a daemon's held-out questions of a task, and half of its round and batch by default: trials cost by these. */
const settings = {
  ...config,
  rollout: { ...config.rollout, group_size: 8, groups_per_round: 8 },
  training: { ...config.training, learning_rate: 0.008, batch_groups: 8 },
  eval: { ...config.eval, prompts_per_task: 100 },
}

/** Returns the skills of all nodes at the end of each tenth of the time. */
export async function runMixed({
  seed,
  slowness,
  seconds,
  isApart = false,
}: MixedOptions): Promise<{ breaches: readonly string[]; skills: number[][] }> {
  const world = createWorld({ seed })
  const net = createNet({ world, random: world.random('net') })
  const truth: Truth = { honest: new Set(), wrote: new Map(), heads: new Map() }
  const nodes = slowness.map((times, i) => {
    const node = createHonestNode({ name: `n${i}`, signatures: 'stand-in', settings }, { world, net, truth })
    node.weather.slowness = times
    node.boot()
    return node
  })
  const dial = (): void => {
    for (const a of nodes) for (const b of nodes) net.connect(a.id, b.id)
    world.after(3000, dial)
  }
  if (!isApart) dial()
  const skills: number[][] = []
  const look = (): void => {
    // A node tells its skill after what it computes at present.
    void Promise.all(nodes.map(async ({ living }) => (await living?.skill()) ?? 0)).then((all) =>
      skills.push(all),
    )
    world.after(100 * seconds, look)
  }
  world.after(100 * seconds, look)
  await world.run(1000 * seconds + 60_000)
  return { breaches: world.breaches, skills: skills.slice(0, 10) }
}
