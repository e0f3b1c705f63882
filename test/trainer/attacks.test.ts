// Peers that harm by what is true: groups of no use, and groups that cost too much. Against a node whose policy, learner,
// guards, plugin host and verifier are the daemon's own; an honest peer takes part as well.

import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { loadModel, type Model } from '../../daemon/policy/model.ts'
import { createTaskBook } from '../../daemon/rollout/tasks.ts'
import { nodeDisk as disk } from '../../daemon/store/node-disk.ts'
import { TASKS } from '../../plugins/tasks/index.ts'
import { type AttackerOptions, createAttacker } from '../../scripts/lab/nodes/attackers.ts'
import { createLocalEngine } from '../../scripts/lab/nodes/engine.ts'
import { createNode, type ExperimentNode } from '../../scripts/lab/nodes/node.ts'

// Twenty times what it takes on an idle machine.
vi.setConfig({ testTimeout: 240_000 })

let model: Model
const engines = { victim: createLocalEngine({ threads: 1 }), peer: createLocalEngine({ threads: 1 }) }
afterAll(() => Promise.all([engines.victim.close(), engines.peer.close()]))
beforeAll(async () => {
  model = await loadModel(fileURLToPath(new URL('../../models/default', import.meta.url)), { disk })
})

const CHOSEN = [{ name: 'fraction_simplification', difficulty: 1 }]
const TOKENS = 40
const FOREIGN = 4

const create = (name: 'victim' | 'peer', seed: number): Promise<ExperimentNode> =>
  createNode({
    ...{ name, seed, model, tasks: CHOSEN, engine: engines[name] },
    ...{ own: 4, foreign: FOREIGN, adaptive: false, groupSize: 4, maxNewTokens: TOKENS, checkpointEvery: 4 },
  })
const attacker = (attack: AttackerOptions['attack'], more: Partial<AttackerOptions> = {}) =>
  createAttacker({
    ...{ attack, name: 'mallory', seed: 3, model, tokens: TOKENS, groups: 4 },
    tasks: createTaskBook(TASKS, CHOSEN).chosen,
    ...more,
  })

/** Rounds of all three; what the victim learnt in each. */
async function rounds(
  count: number,
  victim: ExperimentNode,
  peer: ExperimentNode,
  stranger?: ReturnType<typeof attacker>,
) {
  const reports = []
  for (let i = 0; i < count; i++) {
    for (const draft of (await peer.round()).shared) victim.receive('peer', draft)
    for (const draft of (await stranger?.round()) ?? []) victim.receive('mallory', draft)
    const { step } = await victim.round()
    if (step) reports.push(step)
  }
  return reports
}
const guards = ({ findings }: ExperimentNode) =>
  findings.flatMap((finding) => (finding.type === 'guard' ? [[finding.guard, ...(finding.peers ?? [])]] : []))

test('a stranger that floods with long random text: no roll-back, no honest peer blamed, steps of bounded compute', async () => {
  const [victim, peer] = [await create('victim', 5), await create('peer', 6)]
  await rounds(15, victim, peer)
  const reports = await rounds(24, victim, peer, attacker('bloat'))
  expect(reports.length).toBeGreaterThan(3)
  expect(guards(victim).filter(([guard]) => guard === 'entropy' || guard === 'roll-back')).toEqual([])
  const tokensOf = (report: (typeof reports)[number], isOwn: boolean) =>
    report.parts.reduce(
      (sum, { author, realTokens }) => sum + ((author === undefined) === isOwn ? realTokens : 0),
      0,
    )
  const longest = Math.max(
    ...reports.filter(({ own }) => own > 0).map((one) => tokensOf(one, true) / one.own),
  )
  for (const report of reports) expect(tokensOf(report, false)).toBeLessThanOrEqual(1.5 * FOREIGN * longest)
  const contributors = victim.learner.sharing()!.contributors
  expect(contributors.find(({ peer: name }) => name === 'peer')).not.toHaveProperty('setAside')
})

test('a stranger whose completions have no tokens: nothing is lost, and no plugin is blamed', async () => {
  const [victim, peer] = [await create('victim', 5), await create('peer', 6)]
  // The node throws whatever a plugin is blamed for.
  const reports = await rounds(12, victim, peer, attacker('empty'))
  expect(reports.length).toBeGreaterThan(3)
  expect(reports.every(({ own, foreign }) => own + foreign > 0)).toBe(true)
})
