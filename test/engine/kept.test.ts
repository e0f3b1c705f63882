import { expect, test } from 'vitest'
import { createKeptSequences, type Piece, type Stretch } from '../../daemon/engine/onnx/host/kept.ts'

/** Eight bytes a token. */
const stretchOf = (length: number): Stretch => ({
  length,
  keys: [new Float32Array(length)],
  values: [new Float32Array(length)],
})
const whole = (stretch: Stretch): Piece => ({ stretch, used: stretch.length })
const range = (from: number, to: number): Int32Array =>
  Int32Array.from({ length: to - from }, (_, i) => from + i)
const usedOf = (pieces: readonly Piece[]): number[] => pieces.map(({ used }) => used)

test('what two prompts begin with is found, whoever kept it, but never the last token', () => {
  const kept = createKeptSequences({ most: 1e6 })
  const [prompt, answer] = [stretchOf(50), stretchOf(20)]
  kept.keep(range(0, 70), [whole(prompt), whole(answer)])
  expect(kept.beginningOf(range(0, 90))).toEqual([whole(prompt), whole(answer)])
  expect(usedOf(kept.beginningOf(range(0, 70)))).toEqual([50, 19])
  expect(usedOf(kept.beginningOf(Int32Array.of(...range(0, 40), 7, 7)))).toEqual([40])
  expect(kept.beginningOf(Int32Array.of(...range(0, 10), 7, 7))).toEqual([])
  kept.clear()
  expect(kept.beginningOf(range(0, 90))).toEqual([])
})

test('sequences that share a prompt share its bytes, and a longer one takes the place of its own beginning', () => {
  const kept = createKeptSequences({ most: 1e6 })
  const prompt = stretchOf(50)
  const other = (i: number): Int32Array => Int32Array.of(...range(0, 50), ...range(100 * i, 100 * i + 10))
  for (let i = 1; i <= 4; i++) kept.keep(other(i), [whole(prompt), whole(stretchOf(10))])
  expect(kept.bytes).toBe(8 * (50 + 4 * 10))
  const found = kept.beginningOf(Int32Array.of(...other(2), 1, 2, 3))
  kept.keep(Int32Array.of(...other(2), 1, 2), [...found, whole(stretchOf(2))])
  expect(kept.bytes).toBe(8 * (50 + 4 * 10 + 2))
})

test('the bytes are bounded, and what was used least recently goes first', () => {
  const kept = createKeptSequences({ most: 8 * 100 })
  const tokensOf = (i: number): Int32Array => range(100 * i, 100 * i + 40)
  kept.keep(tokensOf(1), [whole(stretchOf(40))])
  kept.keep(tokensOf(2), [whole(stretchOf(40))])
  const longer = (i: number): Int32Array => Int32Array.of(...tokensOf(i), 5)
  expect(usedOf(kept.beginningOf(longer(1)))).toEqual([40])
  kept.keep(tokensOf(3), [whole(stretchOf(40))])
  expect([1, 2, 3].map((i) => usedOf(kept.beginningOf(longer(i))))).toEqual([[40], [], [40]])
  kept.keep(range(0, 200), [whole(stretchOf(200))])
  expect(kept.bytes).toBe(0)
})
