// Success-gated transfer between two real models with different tokenizers. The default model knows decimal
// arithmetic, the model of three tasks never saw it: all its answers are wrong. Policy, learner, verifier and
// plugin host are the daemon's own.

import { afterAll, expect, test, vi } from 'vitest'
import { TASKS } from '../../plugins/tasks/index.ts'
import { createLocalEngine } from '../../scripts/lab/nodes/engine.ts'
import { createNode } from '../../scripts/lab/nodes/node.ts'
import { loadStart } from '../../scripts/lab/nodes/start.ts'

// Twenty times what it takes on an idle machine.
vi.setConfig({ testTimeout: 240_000 })

const engines = { guide: createLocalEngine({ threads: 1 }), pupil: createLocalEngine({ threads: 1 }) }
afterAll(() => Promise.all([engines.guide.close(), engines.pupil.close()]))

const task = TASKS.find(({ name }) => name === 'decimal_arithmetic')!
const candidates = Array.from({ length: 8 }, (_, seed) => ({
  ...{ task: task.name, taskVersion: task.version, seed, difficulty: 0 },
}))

test('a node borrows what a peer with another tokenizer solved and it cannot', async () => {
  const create = async (name: 'guide' | 'pupil', model: string) =>
    createNode({
      ...{ name, seed: 3, model: (await loadStart(model)).model, engine: engines[name] },
      ...{ tasks: [{ name: task.name, difficulty: 0 }], candidates, own: 8, foreign: 0, adaptive: false },
      plugins: { replay: [{ use: 'rescue' }], selector: { use: 'common' } },
    })
  const [guide, pupil] = [await create('guide', 'default'), await create('pupil', 'three-tasks')]
  expect(guide.policy.reference().tokenizer).not.toBe(pupil.policy.reference().tokenizer)

  const before = await pupil.round()
  expect([before.reward, before.step]).toEqual([0, undefined])
  for (const draft of (await guide.round()).shared) pupil.receive('guide', draft)
  const { step, reward } = await pupil.round()

  expect(reward).toBe(0)
  expect(step?.pluginMetrics['rescue.groups']).toBeGreaterThan(0)
  expect(step).toMatchObject({ steps: 1, foreign: 0, skipped: [] })
  // The guide is named as one whose text was learnt from; the groups are the pupil's own.
  expect(step?.authors).toEqual({ guide: step?.own })
  expect(step?.watched.foreignShare).toBe(0)
})
