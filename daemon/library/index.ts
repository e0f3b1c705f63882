// The library, as imported by `import 'waggle'`: a model that samples, scores and learns, and a trainer that runs the
// daemon's own rounds with its plugins. See docs/library.md.

export * from '../../protocol/errors.ts'
export type { Expression } from '../../protocol/plugin/expression/expression.ts'
export * as expression from '../../protocol/plugin/expression/expression.ts'
export type * from './contract.ts'
export { objectiveOf, type PluginUse } from './objective.ts'
export { openModel } from './open.ts'
export {
  type Accuracy,
  createTrainer,
  type Round,
  type TaskUse,
  type Trainer,
  type TrainerOptions,
  type Update,
} from './trainer.ts'
