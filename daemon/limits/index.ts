// Limits: what the node may use of its machine, and when.
//
//   const limits = await createLimits({ settings: () => settings().limits, cores }, { machine, ... })
//   while (limits.mustWait()) await ...
//
// rules.ts decides what holds the node back, budget.ts paces work, machine.ts reads the machine, and rest.ts decides
// when the engines may end.

export { createLimits, type NodeLimits } from './limits.ts'
export { createMachineReader, type MachineReader, unkept } from './machine.ts'
export { takeBackgroundPriority } from './priority.ts'
export { createRestTimer } from './rest.ts'
