// Sums of two numbers, learnt by a loop of one's own: sample, reward, gradient, step.

import { type Expression, expression, openModel } from 'waggle'

const { column, mul, neg } = expression
/** REINFORCE: an answer that is better than its group's mean becomes more likely. */
const loss: Expression = neg(mul(column('advantage'), column('logprob')))
const steps = Number(process.argv[2] ?? 60)

/** Question n: each of the 8100 pairs of numbers of two digits once. */
const sum = (n: number) => [10 + Math.floor(((n * 3571) % 8100) / 90), 10 + ((n * 3571) % 90)] as const
const rewardOf = (text: string, right: number) =>
  text.includes(`<answer>${right}</answer>`) ? 1 : /<answer>\d+<\/answer>/.test(text) ? 0.2 : 0
const mean = (values: readonly number[]) => values.reduce((a, b) => a + b, 0) / values.length

const model = await openModel('default')
for (let step = 1; step <= steps; step++) {
  const sums = Array.from({ length: 16 }, (_, i) => sum(16 * step + i))
  const questions = sums.map(([a, b]) => `Work out ${a} + ${b}`)
  const groups = await model.sample(questions, { seed: step, count: 8 })
  const rewards = groups.map((group, i) => group.map(({ text }) => rewardOf(text, sums[i]![0] + sums[i]![1])))
  const rows = groups.flatMap((group, i) =>
    group.map((sample, j) => ({ ...sample, columns: { advantage: rewards[i]![j]! - mean(rewards[i]!) } })),
  )
  await model.accumulate(rows, { loss })
  const { norm } = await model.step({ learningRate: 1e-4 })
  console.log(`step ${step}, mean reward ${mean(rewards.flat()).toFixed(3)}, gradient ${norm.toFixed(3)}`)
}
await model.save('sums')
await model.export('sums-model')
await model.close()
