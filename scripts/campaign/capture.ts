// G03 and G13: how much of a node's step strangers can make. The node, its learner and its verifier are the daemon's own; two
// honest peers learn with it. Then the honest ones have nothing more to say, and only strangers send groups with a signal:
// marked right answers, first under one name, then under two hundred; and last without tokens, so that nothing can be compared.

import { fileURLToPath } from 'node:url'
import { loadModel } from '../../daemon/policy/model.ts'
import { createTaskBook } from '../../daemon/rollout/tasks.ts'
import { nodeDisk as disk } from '../../daemon/store/node-disk.ts'
import { TASKS } from '../../plugins/tasks/index.ts'
import { mean } from '../lab/frame/statistics.ts'
import { createLocalEngine } from '../lab/nodes/engine.ts'
import { createLiar, type Lie } from '../lab/nodes/liars.ts'
import { createNode } from '../lab/nodes/node.ts'
import type { Row } from './row.ts'

const CHOSEN = [{ name: 'basic_arithmetic', difficulty: 1 }]
const NAMES = 200

/** Lengths of the gradients of an update as they went into the step. */
interface Lengths {
  honest: number
  hostile: number
  own: number
  /** Groups. */
  used: number
}

export async function capture({ rounds }: { rounds: number }): Promise<Row> {
  const folder = fileURLToPath(new URL('../../models/default', import.meta.url))
  const model = await loadModel(folder, { disk })
  const engines = Array.from({ length: 4 }, () => createLocalEngine({ threads: 1 }))
  const create = (name: string, i: number) =>
    createNode({
      ...{ name, seed: 11 + i, model, tasks: CHOSEN, engine: engines[i]!, adaptive: false },
      ...{ own: 4, foreign: 4, groupSize: 8 },
    })
  const [victim, ...peers] = await Promise.all(['victim', 'honest a', 'honest b'].map(create))
  await engines[3]!.open({ spec: model.spec, weights: model.weights })
  const liarOf = (lie: Lie, groups: number) =>
    createLiar({
      ...{ lie, name: 'hostile', seed: 3, model, groups, groupSize: 8, engine: engines[3]! },
      tasks: createTaskBook(TASKS, CHOSEN).chosen,
    })
  const marked = liarOf('poison', 4)
  // This one writes five times as many.
  const bare = liarOf('capture', 1)
  let sent = 0
  async function play(isHonest: boolean, names: number, liar = marked): Promise<Lengths[]> {
    const found: Lengths[] = []
    for (let round = 0; round < rounds; round++) {
      if (isHonest)
        for (const peer of peers)
          for (const draft of (await peer.round()).shared) victim!.receive(peer.name, draft)
      if (names > 0)
        for (const draft of await liar.round()) victim!.receive(`hostile ${sent++ % names}`, draft)
      const { step } = await victim!.round()
      if (!step) continue
      const lengths: Lengths = { honest: 0, hostile: 0, own: 0, used: 0 }
      for (const [author, groups] of Object.entries(step.authors))
        if (author.startsWith('hostile')) lengths.used += groups
      for (const { author, scale, gradientNorm } of step.parts)
        lengths[author === undefined ? 'own' : author.startsWith('honest') ? 'honest' : 'hostile'] +=
          scale * gradientNorm
      found.push(lengths)
    }
    return found
  }
  const phases = {
    'honest ones only': await play(true, 0),
    'one stranger among them': await play(true, 1),
    'one stranger alone': await play(false, 1),
    [`${NAMES} strangers alone`]: await play(false, NAMES),
    [`${NAMES} strangers without tokens`]: await play(false, NAMES, bare),
  }
  await Promise.all(engines.map((engine) => engine.close()))
  const say = Object.entries(phases).map(([name, found]) => {
    const sum = (of: keyof Lengths) => mean(found.map((one) => one[of]))
    const most = Math.max(...found.filter(({ own }) => own > 0).map(({ own, hostile }) => hostile / own), 0)
    const [honest, hostile, own] = [sum('honest'), sum('hostile'), sum('own')]
    return {
      text: `${name}: ${found.length} updates, ${found.reduce((so, { used }) => so + used, 0)} hostile groups, lengths: own ${own.toFixed(3)}, honest ${honest.toFixed(3)}, hostile ${hostile.toFixed(3)}, at most ${most.toFixed(2)} of own`,
      share: hostile / (honest + hostile || 1),
      most,
    }
  })
  return {
    goal: 'G03',
    tried: `${5 * rounds} rounds with 2 honest peers and strangers that send 4 or 5 groups a round`,
    result: say.map(({ text }) => text).join('; '),
    control: `with equal weights, a stranger among two honest peers would have a third; it has ${(100 * say[1]!.share).toFixed(0)} %`,
    isMet: say.every(({ most }) => most <= 1) && say[1]!.share <= 0.5,
  }
}
