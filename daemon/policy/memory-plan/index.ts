// The memory plan, made before a model is loaded: how much memory it needs, and which settings fit.
//
//   const plan = planMemory(name, spec, { method, adapter, microBatchTokens, budget, work })
//
// estimate.ts computes what is needed, budget.ts what is available, choose.ts picks settings or refuses, text.ts
// describes the plan.

export { memoryBudget, memoryHere } from './budget.ts'
export { hasRoomToMix, type MemoryPlan, planMemory, type Wish } from './choose.ts'
export {
  estimateMemory,
  type MemoryEstimate,
  roleMemory,
  samplerMemory,
  TEACHER_ENGINE,
  teacherMemory,
  type Work,
  withAdapter,
} from './estimate.ts'
export { planText } from './text.ts'
export { promptTokens, type TrainingConfig, wishOf } from './wish.ts'
