import { availableParallelism, cpus } from 'node:os'

/** The machine that produced a result, for the result's first line. */
export const thisMachine = (): string =>
  `${cpus()[0]?.model}, ${availableParallelism()} cores, Node ${process.version}`
