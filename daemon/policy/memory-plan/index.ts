// The plan before loading: what a model will take, and how to train it so that it fits.
//
//   const plan = planMemory(name, spec, { method, adapter, microBatchTokens, budget, work })
//
// estimate.ts counts, budget.ts says what there is, choose.ts chooses or refuses, text.ts puts it into words.

export { memoryBudget, memoryHere } from './budget.ts'
export { type MemoryPlan, planMemory, type Wish } from './choose.ts'
export { estimateMemory, type MemoryEstimate, roleMemory, type Work, withAdapter } from './estimate.ts'
export { planText } from './text.ts'
export { type TrainingConfig, wishOf } from './wish.ts'
