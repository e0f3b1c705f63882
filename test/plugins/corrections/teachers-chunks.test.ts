import { expect, test } from 'vitest'
import { baselineOf, chunkLoss, readChunks } from '../../../plugins/corrections/teachers/chunks.ts'
import { column } from '../../../protocol/plugin/expression/expression.ts'
import { slopesOf } from './rows.ts'

const LOSS = chunkLoss(column('teachers.theirs'), { clip: 100 })

/** Gradient of the loss by each token's log-prob, of an answer sampled with these log-probs. */
function slopes(sampled: readonly number[], chunks: { ends: number[]; logprobs: number[] }): number[] {
  const { theirs } = readChunks(
    { ends: Int32Array.from(chunks.ends), logprobs: Float32Array.from(chunks.logprobs) },
    Float32Array.from(sampled),
  )
  return slopesOf(LOSS, { logprob: [...sampled], 'teachers.theirs': [...theirs] })
}

test('where every chunk is a token, it is the sampled-token form: own less the teacher’s log-prob', () => {
  const found = slopes([-1, -2, -0.5], { ends: [1, 2, 3], logprobs: [-3, -1, -0.5] })
  for (const [i, expected] of [2, -1, 0].entries()) expect(found[i]).toBeCloseTo(expected, 5)
})

test('each token of a chunk gets the whole difference of the chunk', () => {
  const found = slopes([-1, -2, -4], { ends: [2, 3], logprobs: [-5, -4] })
  for (const [i, expected] of [2, 2, 0].entries()) expect(found[i]).toBeCloseTo(expected, 5)
})

test('the sums over chunks are those over tokens, and what follows the last chunk does not count', () => {
  const read = readChunks(
    { ends: Int32Array.of(2, 3), logprobs: Float32Array.of(-5, -4) },
    Float32Array.of(-1, -2, -4, -9),
  )
  expect(read.gap).toBe(-7 + 9)
  expect([...read.counts]).toEqual([1, 1, 1, 0])
})

test('the baseline is the mean over tokens, each with the difference of its chunk', () => {
  const read = (sampled: number[], ends: number[], logprobs: number[]) =>
    readChunks(
      { ends: Int32Array.from(ends), logprobs: Float32Array.from(logprobs) },
      Float32Array.from(sampled),
    )
  // Two tokens of 3 nats, one of 9; the token after the last chunk does not count.
  expect(baselineOf([read([-1, -1], [2], [-5]), read([-1, -7], [1], [-10])])).toBe(5)
  expect(baselineOf([])).toBe(0)
})

test('the expected gradient over all answers is that of the reverse KL between the two', () => {
  // Answers of two tokens in one chunk; the teacher has any distribution over the four answers.
  const teacher = [0.1, 0.2, 0.3, 0.4].map(Math.log)
  const logsOf = ([first, ...second]: number[]): number[][] => {
    const logs = (logit: number) => [-Math.log1p(Math.exp(-logit)), -Math.log1p(Math.exp(logit))]
    const [a, b] = [logs(first!), second.map(logs)]
    return [0, 1].flatMap((i) => [0, 1].map((j) => [a[i]!, b[i]![j]!]))
  }
  const klOf = (logits: number[]): number =>
    logsOf(logits).reduce((sum, [a, b], i) => sum + Math.exp(a! + b!) * (a! + b! - teacher[i]!), 0)
  const logits = [0.3, -0.7, 1.1]
  const step = 1e-5
  const moved = (k: number, by: number) => logits.map((logit, i) => (i === k ? logit + by : logit))
  for (const k of logits.keys()) {
    const [up, down] = [moved(k, step), moved(k, -step)]
    let expected = 0
    logsOf(logits).forEach((logs, i) => {
      const probability = Math.exp(logs[0]! + logs[1]!)
      const found = slopes(logs, { ends: [2], logprobs: [teacher[i]!] })
      found.forEach((slope, t) => {
        expected += (probability * slope * (logsOf(up)[i]![t]! - logsOf(down)[i]![t]!)) / (2 * step)
      })
    })
    expect(expected).toBeCloseTo((klOf(up) - klOf(down)) / (2 * step), 5)
  }
})

test('a difference is at most the limit, and the importance weight at most 2', () => {
  const loss = chunkLoss(column('teachers.theirs'), { clip: 2 })
  const row = { logprob: [-1, -1, -1], 'teachers.theirs': [-50, 50, -2], behaviour: [-1, -1, -9] }
  expect(slopesOf(loss, row).map((slope) => Math.round(slope * 1e4) / 1e4)).toEqual([2, -2, 2])
})
