// Trusted peers whose weights are good at first and answer everything wrong later, as many as honest nodes.

import { expect, test } from 'vitest'
import { TURN_MS } from './actors/heads.ts'
import { startActor } from './actors/index.ts'
import type { Truth } from './checks.ts'
import { createNet } from './net.ts'
import { createHonestNode } from './node.ts'
import { createWorld } from './world.ts'

test('honest nodes go on learning, whatever half of the nodes offer later', async () => {
  const world = createWorld({ seed: 1 })
  const net = createNet({ world, random: world.random('net') })
  const truth: Truth = { honest: new Set(), wrote: new Map(), heads: new Map(), turncoats: new Set() }
  const signatures = 'stand-in'
  const nodes = ['a', 'b'].map((name) => createHonestNode({ name, signatures }, { world, net, truth }))
  const spy = async () => nodes[0]!.living?.skill()
  const liars = [0, 1].map((i) =>
    startActor({ kind: 'turncoat', name: `liar ${i}`, signatures }, { world, net, spy }),
  )
  for (const { id } of liars) truth.turncoats!.add(id)
  for (const node of nodes) node.boot()
  const everybody = [...nodes, ...liars].map(({ id }) => id)
  const dial = (): void => {
    for (const a of everybody) for (const b of everybody) net.connect(a, b)
    world.after(3000, dial)
  }
  dial()
  /** Of both nodes, from this virtual second on. A read waits for its turn at the engine, which takes virtual time. */
  const skillsAt = async (second: number): Promise<number[]> => {
    await world.run(second * 1000)
    const reading = Promise.all(nodes.map(async ({ living }) => (await living?.skill()) ?? Number.NaN))
    await world.run(second * 1000 + 10_000)
    return await reading
  }
  const before = await skillsAt(TURN_MS / 1000 - 10)
  // While a node tries weights, it has them: so each is read a few times.
  const after: number[][] = []
  for (const second of [170, 180, 190, 200]) after.push(await skillsAt(second))
  for (const [i, skill] of before.entries())
    expect(Math.max(...after.map((skills) => skills[i]!))).toBeGreaterThan(skill + 0.05)
  expect(world.breaches).toEqual([])
}, 60_000)
