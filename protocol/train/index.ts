export * from './prompt.ts'
export * from './rollout.ts'
export * from './task.ts'
export * from './written.ts'
