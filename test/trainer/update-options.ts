import type { UpdateOptions } from '../../daemon/trainer/update.ts'
import { ADAMW } from '../engine/model.ts'

/** Of the node that `group` of groups.ts takes for its author, at the version that its groups have. */
export const UPDATE: UpdateOptions = {
  temperature: 1,
  minibatches: 1,
  optimizer: ADAMW,
  self: 'me',
  lineage: 'a',
  version: 3,
  learnForeign: true,
  compare: false,
  isBelieved: () => true,
  earnedWeight: () => 1,
}
