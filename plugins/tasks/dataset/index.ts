// Datasets: questions and answers that people bring, as a task like any other.

export { Fault } from '../verifiers/index.ts'
export { type Gathered, type Gathering, gather, MAX_PROBLEMS, type Problem } from './gather.ts'
export { type Judge, MAX_ROW_BYTES, MAX_ROWS, readJudge } from './rows.ts'
export { datasetTask } from './task.ts'
