import { expect, test } from 'vitest'
import { parameterCount } from '../../daemon/engine/decoder.ts'
import { findTeachers } from '../../daemon/node/policy/teacher-models.ts'
import type { OtherModel } from '../../daemon/policy/live-policy.ts'
import { describeModel } from '../../daemon/policy/model.ts'
import { createTeachers, type TeachersParts } from '../../daemon/policy/teachers.ts'
import { nodeDisk as disk } from '../../daemon/store/node-disk.ts'

const find = async (directory: string) => ({ directory, name: directory })
const asked = { questions: [{ question: 'why' }], completion: 96 }

test('what a teacher takes is known before its weights are read: these, and what its engine needs', async () => {
  const [found] = await findTeachers({ names: ['models/default'], ...asked }, { find, disk })
  const weights = 4 * parameterCount((await describeModel('models/default', { disk })).spec)
  expect(found!.bytes).toBeGreaterThan(weights)
  expect(found!.bytes).toBeLessThan(weights + 500e6)
})

test('how far a teacher is with answers and with scores is shown', async () => {
  const seen: unknown[] = []
  const phases = {
    run: async <T>(name: string, size: object, work: (at: (...told: unknown[]) => void) => T | Promise<T>) =>
      work((...told) => seen.push([name, size, ...told])),
  }
  const none = new Float32Array()
  const written = { tokens: Int32Array.of(), logprobs: none, policyLogprobs: none, entropies: none }
  const model: OtherModel = {
    async score({ onProgress }) {
      onProgress?.(0.5)
      return []
    },
    async generate(_, { onDrawn, onFinish } = {}) {
      onDrawn?.(7)
      onFinish?.(0, { ...written, finish: 'stop', version: 0 })
      return []
    },
  }
  const teachers = createTeachers({
    ...{ models: new Map([['big', model]]), phases, heads: () => [] },
    policy: {} as TeachersParts['policy'],
    checkpoint: async () => ({}),
    server: () => model,
  })
  const item = { conditioning: Int32Array.of(1), completion: Int32Array.of(1, 2) }
  const samples = [{ prompt: Int32Array.of(1), seed: 1 }]
  await teachers.ask('big', async ({ score, generate }) => {
    await generate!({ samples, maxNewTokens: 1, temperature: 1, stopTokens: [] })
    await score({ sequences: [item], temperature: 1 })
  })
  expect(seen).toEqual([
    ['teach', { unit: 'answers', total: 1 }, 0, undefined, 7],
    ['teach', { unit: 'answers', total: 1 }, 1],
    ['teach', { unit: 'tokens', total: 2 }, 1],
  ])
})

test('the policy stops writing for a plugin that has run out of time', async () => {
  const stop = new AbortController()
  const signals: unknown[] = []
  const teachers = createTeachers({
    policy: {
      scorer: {},
      sampler: {
        async generate(_request: unknown, { signal }: { signal?: AbortSignal } = {}) {
          signals.push(signal)
          return []
        },
      },
    } as unknown as TeachersParts['policy'],
    ...{ heads: () => [], checkpoint: async () => ({}), server: () => ({ score: async () => [] }) },
  })
  await teachers.ask(undefined, async ({ generate }) => {
    await generate!({ samples: [], maxNewTokens: 1, temperature: 1, stopTokens: [] }, { signal: stop.signal })
  })
  expect(signals).toEqual([stop.signal])
})

test('a teacher that is not there is named, with what can teach', async () => {
  await expect(findTeachers({ names: ['models/none.gguf'], ...asked }, { find, disk })).rejects.toThrow(
    expect.objectContaining({
      code: 'E_MODEL',
      message: expect.stringMatching(/^the teacher "models\/none.gguf" cannot be used: .*none.gguf/),
      hint: expect.stringMatching(/A teacher is peers, begin/),
    }),
  )
})
