import { expect, test } from 'vitest'
import { defaultConfig } from '../../daemon/config/schema.ts'
import { type ControlParts, openControl } from '../../daemon/node/control.ts'
import { createTaskBook } from '../../daemon/rollout/tasks.ts'
import { TASKS } from '../../plugins/tasks/index.ts'
import { createPhases } from '../../protocol/api/index.ts'
import { characterTokenizer } from '../rollout/characters.ts'

test('a stop does not wait for an evaluation that somebody asked for', async () => {
  const generating = Promise.withResolvers<void>()
  const sampler = {
    generate: (_: unknown, { signal }: { signal: AbortSignal }) =>
      new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason))
        generating.resolve()
      }),
  }
  const closed: string[] = []
  const parts = {
    policy: {
      sampler,
      reference: () => ({ version: 3 }),
      model: { tokenizer: characterTokenizer(), spec: { contextLength: 1000 } },
    },
    tasks: createTaskBook(TASKS, [{ name: 'basic_arithmetic' }]),
    phases: createPhases({ now: () => 0 }),
    wishes: { paused: false, stopping: false },
    state: { tell() {} },
    loops: { end: async () => {} },
    requests: { refuse() {} },
    journal: {},
    save: async () => {},
    closeAll: async () => closed.push('all'),
    finish: (status: number) => closed.push(`status ${status}`),
    now: () => 0,
  } as unknown as ControlParts
  const control = openControl({ settings: defaultConfig, facts: { secrets: [] } as never }, parts)
  const evaluation = control.evaluate({ promptsPerTask: 1 })
  evaluation.catch(() => {})
  await generating.promise
  await control.stop({ checkpoint: false })
  expect(closed).toEqual(['all', 'status 0'])
  await expect(evaluation).rejects.toMatchObject({ code: 'E_CONTROL', message: 'the node is stopping' })
})
