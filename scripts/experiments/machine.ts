import { availableParallelism, cpus } from 'node:os'

/** What a result is of, as its first line says it. */
export const thisMachine = (): string =>
  `${cpus()[0]?.model}, ${availableParallelism()} cores, Node ${process.version}`
