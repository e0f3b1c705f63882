import { expect, test } from 'vitest'
import { append, appendReply, beginSequence, sampleOf } from '../../daemon/rollout/writing/sequence.ts'
import { TASKS } from '../../plugins/tasks/index.ts'

const [task] = TASKS
const order = {
  prompt: { task: task!.name, taskVersion: task!.version, seed: 1, difficulty: 0 },
  rollouts: 1,
  task: task!,
  instance: task!.generate({ seed: 1, difficulty: 0 }),
  conditioning: Int32Array.of(5, 6),
}
const written = (
  length: number,
  version: number,
  segments?: { version: number; start: number; length: number }[],
) => ({
  tokens: new Int32Array(length).fill(9),
  logprobs: new Float32Array(length).fill(-1),
  policyLogprobs: new Float32Array(length),
  entropies: new Float32Array(length),
  finish: 'aborted' as const,
  version,
  ...(segments ? { segments } : {}),
})

test('every token has the version that wrote it, whether weights changed between calls or within one', () => {
  const sequence = beginSequence(order, 3)
  append(sequence, written(4, 1))
  append(sequence, written(2, 1))
  append(
    sequence,
    written(5, 2, [
      { version: 2, start: 0, length: 2 },
      { version: 3, start: 2, length: 3 },
    ]),
  )
  appendReply(sequence, Int32Array.of(7, 7))
  append(sequence, written(0, 4))
  append(sequence, written(1, 4))
  expect(sequence.segments).toEqual([
    { version: 1, start: 0, length: 6 },
    { version: 2, start: 6, length: 2 },
    { version: 3, start: 8, length: 5 },
    { version: 4, start: 13, length: 1 },
  ])
  expect(sequence.mask.filter((own) => own === 0)).toHaveLength(2)
  expect(sequence.fresh).toBe(12)
  expect(sampleOf(sequence, 3, 8)).toEqual({
    prompt: Int32Array.from([5, 6, ...sequence.tokens]),
    seed: 3,
    drawn: 1,
    maxNewTokens: 3,
  })
})
