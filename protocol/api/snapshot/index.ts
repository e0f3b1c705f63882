// The state of a node, as the control API answers it.

export * from './heads.ts'
export * from './machine.ts'
export * from './node.ts'
export * from './serving.ts'
export * from './sharing.ts'
export * from './snapshot.ts'
export * from './swarm.ts'
export * from './training.ts'
