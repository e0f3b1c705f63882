// G22: one of three peers sends right answers that are some ten times as long as own ones, and short wrong ones. Do a node's own
// answers grow, beside a node whose peers are all honest?

import { fileURLToPath } from 'node:url'
import { loadModel } from '../../daemon/policy/model.ts'
import { createTaskBook } from '../../daemon/rollout/tasks.ts'
import { nodeDisk as disk } from '../../daemon/store/node-disk.ts'
import { TASKS } from '../../plugins/tasks/index.ts'
import { mean } from '../lab/frame/statistics.ts'
import { createLocalEngine } from '../lab/nodes/engine.ts'
import { createLiar } from '../lab/nodes/liars.ts'
import { createNode } from '../lab/nodes/node.ts'
import type { Row } from './row.ts'

const CHOSEN = [{ name: 'basic_arithmetic', difficulty: 1 }]
const [OWN, SIZE, TOKENS] = [4, 8, 160]
const FILLER = 'Let me think about this once more, slowly, and from the start. '

interface Outcome {
  /** Tokens of an own answer, in the first and in the last third. */
  first: number
  last: number
  secondsPerStep: number
  used: number
}

export async function lengths({ rounds }: { rounds: number }): Promise<Row> {
  const folder = fileURLToPath(new URL('../../models/default', import.meta.url))
  const model = await loadModel(folder, { disk })
  const engines = Array.from({ length: 4 }, () => createLocalEngine({ threads: 1 }))

  async function play(isLong: boolean): Promise<Outcome> {
    const create = (name: string, i: number) =>
      createNode({
        ...{ name, seed: 21 + i, model, tasks: CHOSEN, engine: engines[i]!, adaptive: false },
        ...{ own: OWN, foreign: OWN, groupSize: SIZE, maxNewTokens: TOKENS },
      })
    const [victim, ...peers] = await Promise.all(['victim', 'honest a', 'honest b'].map(create))
    await engines[3]!.open({ spec: model.spec, weights: model.weights })
    const liar = createLiar({
      ...{ lie: 'poison', name: 'long', seed: 3, model, groups: OWN, groupSize: SIZE, engine: engines[3]! },
      ...{ tasks: createTaskBook(TASKS, CHOSEN).chosen, mark: FILLER.repeat(2).slice(0, 110) },
    })
    const tokens: number[] = []
    const seconds: number[] = []
    let used = 0
    for (let round = 0; round < rounds; round++) {
      for (const peer of peers)
        for (const draft of (await peer.round()).shared) victim!.receive(peer.name, draft)
      if (isLong) for (const draft of await liar.round()) victim!.receive('long', draft)
      const { generatedTokens, step } = await victim!.round()
      tokens.push(generatedTokens / OWN / SIZE)
      if (!step) continue
      seconds.push(step.seconds)
      used += step.authors.long ?? 0
    }
    const third = Math.ceil(rounds / 3)
    return {
      ...{ first: mean(tokens.slice(0, third)), last: mean(tokens.slice(-third)) },
      ...{ secondsPerStep: mean(seconds), used },
    }
  }

  const clean = await play(false)
  const beside = await play(true)
  await Promise.all(engines.map((engine) => engine.close()))
  const drift = 100 * (beside.last / clean.last - 1)
  const slower = beside.secondsPerStep / clean.secondsPerStep
  const say = ({ first, last }: Outcome): string => `${first.toFixed(1)} and ${last.toFixed(1)}`
  return {
    goal: 'G22',
    tried: `${rounds} rounds with two honest peers and one whose right answers are about ten times as long`,
    result:
      `tokens of own answers in the first and last third: ${say(beside)}, ${drift.toFixed(1)} % more than without it; ` +
      `steps take ${slower.toFixed(2)} times as long; ${beside.used} of its groups were drawn`,
    control: `with honest peers only: ${say(clean)}`,
    isMet: drift <= 10 && slower <= 1.2,
  }
}
