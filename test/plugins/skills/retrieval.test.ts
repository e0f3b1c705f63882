import { describe, expect, test } from 'vitest'
import arise from '../../../plugins/skills/arise/arise.ts'
import { SEEDS } from '../../../plugins/skills/arise/document.ts'
import { createLibrary } from '../../../plugins/skills/library/library.ts'
import { centred, createRetrieval } from '../../../plugins/skills/library/retrieval.ts'
import slea from '../../../plugins/skills/slea/slea.ts'
import type { Context } from '../../../protocol/plugin/index.ts'
import { conformance, type ScriptedOptions } from '../../../protocol/plugin/testing/index.ts'
import { OPTIONS } from '../conformance-options.ts'
import { withSettings } from '../samples.ts'
import { contextWith, promptOf, put, small, visit } from './samples.ts'

type States = NonNullable<ScriptedOptions['hidden']>

/** States that are nearly the same for all texts, and differ in their second number. */
const states =
  (kinds: Record<string, number>): States =>
  ({ conditioning, completion }) => {
    const [, kind] = Object.entries(kinds).find(([word]) => conditioning.includes(word)) ?? ['', 0]
    return Array.from(completion, () => [10, kind])
  }

function countScored(context: Context): { context: Context; scored: number[] } {
  const scored: number[] = []
  const counting: Context = {
    ...context,
    score(items, options) {
      scored.push(items.length)
      return context.score(items, options)
    },
  }
  return { context: counting, scored }
}

test('the library’s mean is taken away, so that states that are nearly the same are told apart', () => {
  const at = (x: number, y: number): Float32Array =>
    Float32Array.of(x / Math.hypot(x, y), y / Math.hypot(x, y))
  const [a, b, asked] = centred([at(10, 1), at(10, -1), at(10, 0.5)], 2)
  // The mean of a and b is (10 / sqrt 101, 0).
  expect([...a!]).toEqual([0, 1])
  expect([...b!]).toEqual([0, -1])
  const rest = [10 / Math.sqrt(100.25) - 10 / Math.sqrt(101), 0.5 / Math.sqrt(100.25)]
  const norm = Math.hypot(...rest)
  expect(asked![0]).toBeCloseTo(rest[0]! / norm, 4)
  expect(asked![1]).toBeCloseTo(rest[1]! / norm, 4)
})

test('the nearest comes first: by states what is meant, by words what is written', async () => {
  const library = small()
  const meant = put(library, 'sum up what is there')
  const written = put(library, 'order the words of a text')
  const context = contextWith({ hidden: states({ 'sum up': 1, 'add all': 1, 'words of': -1 }) })
  const ask = 'add all words of a text in order'
  const by = (name: 'words' | 'states') => createRetrieval(name).nearest([written, meant], ask, context)
  expect(await by('states')).toEqual([meant, written])
  expect(await by('words')).toEqual([written, meant])
})

test('a text is read once for each version of the policy', async () => {
  const library = small()
  const entries = [put(library, 'one thing'), put(library, 'another thing')]
  const retrieval = createRetrieval('states')
  const read = async (step: number): Promise<number[]> => {
    const { context, scored } = countScored(contextWith({ step }))
    await retrieval.nearest(entries, 'which?', context)
    return scored
  }
  // The entries, then the question.
  expect(await read(3)).toEqual([2, 1])
  expect(await read(3)).toEqual([1])
  expect(await read(4)).toEqual([2, 1])
})

test('of a large library the 64 best are compared by states, and the others come after them', async () => {
  const library = createLibrary({ zones: { a: 100 }, characters: 100 })
  const entries = Array.from({ length: 70 }, (_, i) => put(library, `text ${i}`, { score: 0 - i }))
  const { context, scored } = countScored(
    contextWith({ hidden: states({ 'text 69': 1, 'text 9': 1, which: 1 }) }),
  )
  const found = await createRetrieval('states').nearest(entries, 'which?', context)
  expect(scored).toEqual([32, 32, 1])
  expect(found[0]).toBe(entries[9])
  expect(found.slice(64)).toEqual(entries.slice(64))
})

test('an empty library and an empty text cost nothing and break nothing', async () => {
  const { context, scored } = countScored(contextWith())
  expect(await createRetrieval('states').nearest([], 'which?', context)).toEqual([])
  expect(scored).toEqual([])
  const entries = [put(small(), 'one thing')]
  expect(await createRetrieval('states').nearest(entries, '', context)).toEqual(entries)
})

test('ARISE shows the skill that is nearest by states, without a gate', async () => {
  const hooks = withSettings(arise, { warmUp: 0, epsilon: 0, choice: 'states' })
  const hidden = states({ place_by_place: 1, columns: 1 })
  const view = { prompt: promptOf(1), question: 'columns of digits', turn: 0 }
  const { items, before } = (await hooks.compose!(view, contextWith({ hidden })))!
  expect(items).toHaveLength(1)
  expect(before).toContain(SEEDS.find((text) => text.includes('place_by_place')))
})

test('SLEA-RL fills up with what is nearest by states', async () => {
  const shown = async (retrieval: 'words' | 'states'): Promise<string> => {
    const hooks = withSettings(slea, { warmUp: 1, smallest: 1, retrieval })
    const write = (): string => 'method: sum up what is there\nprinciple: words of a text in order'
    await hooks.observe!([visit(1, 0, [1])], contextWith({ write }))
    const hidden = states({ 'sum up': 1, 'add all': 1, 'words of': -1 })
    const asked = { prompt: promptOf(2), question: '', observation: 'add all words of a text', turn: 1 }
    return (await hooks.compose!(asked, contextWith({ hidden, step: 1 })))!.before!
  }
  const order = (text: string): number => text.indexOf('sum up') - text.indexOf('words of')
  expect(order(await shown('states'))).toBeLessThan(0)
  expect(order(await shown('words'))).toBeGreaterThan(0)
})

describe.each([
  ['skill/arise', arise, { choice: 'states' }],
  ['skill/slea', slea, { retrieval: 'states' }],
] as const)('%s by states keeps to what any plugin must keep to', (id, plugin, by) => {
  const options = OPTIONS[id]!
  for (const { name, run } of conformance(plugin, { ...options, settings: { ...options.settings, ...by } }))
    test(name.replace(`${id} `, ''), run)
})
