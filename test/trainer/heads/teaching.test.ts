import { expect, test } from 'vitest'
import type { Weights } from '../../../daemon/engine/weights.ts'
import { createTeachers, type TeachersParts } from '../../../daemon/policy/teachers.ts'
import { pack } from '../../../daemon/trainer/heads/blocks.ts'
import { createTeachingHeads } from '../../../daemon/trainer/heads/teaching.ts'
import type { Layout } from '../../../daemon/trainer/heads/vector.ts'

const weightsOf = (value: number): Weights => ({ w: Float32Array.of(value) })

function play(heads: TeachersParts['heads'] = () => []) {
  let held = 1
  const reads: string[] = []
  const scored: number[] = []
  const score = async () => {
    scored.push(held)
    return []
  }
  const teachers = createTeachers({
    policy: {
      initial: weightsOf(0),
      scorer: { score },
      sampler: { generate: async () => [] },
      async under(weights: Weights, run: (model: { score: typeof score }) => Promise<unknown>) {
        const before = held
        held = weights.w![0]!
        try {
          return await run({ score })
        } finally {
          held = before
        }
      },
    } as unknown as TeachersParts['policy'],
    heads,
    async checkpoint(name) {
      reads.push(name)
      return weightsOf(7)
    },
    server: (address) => ({ score: async () => void scored.push(address.length) as never }),
  })
  const ask = (name: string | undefined) =>
    teachers.ask(name, (model) => model.score({ sequences: [], temperature: 1 }))
  return { teachers, ask, reads, scored, held: () => held }
}

test('each teacher is asked with its own weights, and the own ones come back', async () => {
  const { ask, scored, reads, held } = play(() => [
    { peer: 'a', version: 3, claims: [], weights: () => weightsOf(5) },
  ])
  for (const name of ['begin', 'checkpoint/best', 'peer/a', undefined, 'http://localhost']) await ask(name)
  expect(scored).toEqual([0, 7, 5, 1, 'http://localhost'.length])
  await ask('checkpoint/best')
  expect(reads).toEqual(['best'])
  expect(held()).toBe(1)
})

test("nobody is asked by a name that is nobody's", async () => {
  const { ask, scored } = play()
  await expect(ask('peer/b')).rejects.toThrow('no teacher "peer/b"')
  await expect(ask('nonsense')).rejects.toThrow('no teacher')
  expect(scored).toEqual([])
})

const layout: Layout = { size: 70, tensors: [{ name: 'w', at: 0, length: 70 }] }
const headOf = (author: string, value: number, version = 1) => ({
  ...{ author, version, tasks: [{ name: 'sorting', difficulty: 0, accuracy: 0.5 }] },
  bytes: pack(new Float32Array(70).fill(value)),
})

test("a peer's newest head teaches, and only so many are kept", () => {
  const heads = createTeachingHeads({ layout, origin: () => new Float32Array(70).fill(1) })
  for (const [i, peer] of ['a', 'b', 'c', 'd', 'a', 'e'].entries())
    expect(heads.take(headOf(peer, i, i))).toBe('taken')
  expect(heads.list().map(({ peer, version }) => [peer, version])).toEqual([
    ['e', 5],
    ['a', 4],
    ['d', 3],
    ['c', 2],
  ])
  const [newest] = heads.list()
  expect(newest!.weights().w![0]).toBeCloseTo(6, 4)
  expect(newest!.claims).toEqual([{ task: 'sorting', difficulty: 0, accuracy: 0.5 }])
})

test('a head of another size, or with a value that is not finite, is no teacher', () => {
  const heads = createTeachingHeads({ layout, origin: () => new Float32Array(70) })
  expect(heads.take({ ...headOf('a', 1), bytes: new Uint8Array(3) })).toBe('malformed')
  const { bytes } = headOf('a', 1)
  new DataView(bytes.buffer).setFloat32(0, Number.NaN, true)
  expect(heads.take({ ...headOf('a', 1), bytes })).toBe('malformed')
  expect(heads.list()).toEqual([])
})
