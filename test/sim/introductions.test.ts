// A stranger who introduces one author after another, beside honest newcomers. Nodes must get to know the newcomers, at a
// cost that the stranger does not decide, and their users must hear of it.

import { expect, test } from 'vitest'
import { statusText } from '../../daemon/cli/text/status-text.ts'
import type { LearnerState } from '../../daemon/trainer/sharing/evidence.ts'
import { createScriptedNode } from '../control/scripted-node.ts'
import { type ActorKind, startActor } from './actors/index.ts'
import type { Truth } from './checks.ts'
import { createNet } from './net.ts'
import { createHonestNode } from './node/node.ts'
import { createWorld } from './world.ts'

/** Whether any of a peer's tokens have been scored. */
const met = ({ evidence }: LearnerState, peer: string): boolean =>
  evidence?.authors.some(({ author }) => author === peer) === true

/** Three nodes that know each other for a minute; then `actors` come, and three more minutes pass. */
async function swarmWith(actors: readonly ActorKind[]) {
  const world = createWorld({ seed: 34 })
  const net = createNet({ world, random: world.random('net') })
  const truth: Truth = { honest: new Set(), wrote: new Map(), heads: new Map() }
  const signatures = 'stand-in'
  const nodes = ['a', 'b', 'c'].map((name) => createHonestNode({ name, signatures }, { world, net, truth }))
  const everybody = nodes.map(({ id }) => id)
  net.admit((from, to) => {
    const at = nodes.find(({ id }) => id === to)
    return !at || (at.living !== undefined && !at.living.exchange.reputation.isCut(from))
  })
  const dial = (): void => {
    for (const [i, a] of everybody.entries()) for (const b of everybody.slice(i + 1)) net.connect(a, b)
    world.after(3000, dial)
  }
  for (const node of nodes) node.boot()
  dial()
  await world.run(60_000)
  const before = nodes.map(({ tokens, checks }) => ({ ...tokens, steps: checks.tally.steps }))
  const parts = { world, net, spy: async () => nodes[0]!.living?.skill() }
  const started = actors.map((kind, i) => startActor({ kind, name: `${kind} ${i}`, signatures }, parts))
  everybody.push(...started.map(({ id }) => id))
  await world.run(240_000)
  return {
    breaches: world.breaches,
    newcomers: started.filter(({ kind }) => kind === 'newcomer').map(({ id }) => id),
    strangers: started.filter(({ kind }) => kind === 'introducer').map(({ id }) => id),
    nodes: nodes.map(({ tokens, checks, living }, i) => ({
      own: tokens.own - before[i]!.own,
      introductions: tokens.introductions - before[i]!.introductions,
      steps: checks.tally.steps - before[i]!.steps,
      hasMet: (peer: string) => met(living!.core.learner.state(), peer),
      alerts: living!.alerts(),
    })),
  }
}

const NEWCOMERS = ['newcomer', 'newcomer', 'newcomer', 'newcomer'] as const

const [calm, flooded] = await Promise.all([swarmWith(NEWCOMERS), swarmWith(['introducer', ...NEWCOMERS])])

test('honest newcomers are introduced beside a stranger with a new author every quarter of a second', () => {
  for (const { breaches, nodes, newcomers } of [calm, flooded]) {
    expect(breaches).toEqual([])
    for (const { hasMet } of nodes) expect(newcomers.map(hasMet)).toEqual([true, true, true, true])
  }
})

test('the tokens that are scored stay a share of those that a node generates itself', () => {
  for (const { own, introductions } of flooded.nodes) {
    expect(introductions).toBeGreaterThan(0)
    // A quarter, what was saved up before (16 groups), and one rollout too many.
    expect(introductions).toBeLessThanOrEqual(own / 4 + (16 * own) / 100)
  }
})

test('training goes on as without the flood', () => {
  const steps = (of: typeof calm): number => of.nodes.reduce((sum, node) => sum + node.steps, 0)
  expect(steps(flooded)).toBeGreaterThan(0.8 * steps(calm))
})

test('the user of each node hears who delivers it, and nothing where nobody does', () => {
  const { node, ...snapshot } = createScriptedNode().snapshot()
  for (const { alerts } of flooded.nodes) {
    const status = statusText({ ...snapshot, node, alerts: [...alerts] }).join('\n')
    expect(status).toContain('delivers more groups without a signal, by authors that nobody knows')
  }
  expect(calm.nodes.flatMap(({ alerts }) => alerts)).toEqual([])
})
