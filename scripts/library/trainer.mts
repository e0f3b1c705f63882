// The node's own method and tasks, one round at a time.

import { createTrainer, openModel } from 'waggle'

const rounds = Number(process.argv[2] ?? 100)
const model = await openModel('default')
const trainer = await createTrainer(model, {
  seed: 1,
  tasks: ['basic_arithmetic', { name: 'base_conversion', difficulty: 1 }],
  estimator: 'rloo',
  corrections: ['clip', { use: 'tis', cap: 2 }],
})
for (let i = 1; i <= rounds; i++) {
  const { reward, signal, update } = await trainer.round()
  console.log(
    `round ${i}, mean reward ${reward.toFixed(3)}, signal ${signal.toFixed(2)}, loss ${update?.loss.toFixed(4)}`,
  )
}
console.log(await trainer.evaluate({ promptsPerTask: Math.min(rounds, 100) }))
await trainer.close()
await model.close()
