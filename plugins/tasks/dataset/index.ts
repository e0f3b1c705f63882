// Datasets: users' questions and answers, as a task like any other.

export {
  type Answer,
  Fault,
  type FileVerifier,
  type Scored,
  type Settings,
  VERIFIERS,
} from '../verifiers/index.ts'
export type { Fields } from './fields.ts'
export { type Gathered, type Gathering, gather, MAX_PROBLEMS, type Problem } from './gather.ts'
export { type Judge, MAX_ROW_BYTES, MAX_ROWS, type Reading, type Row, readJudge } from './rows.ts'
export { datasetTask } from './task.ts'
