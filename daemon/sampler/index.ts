// Samplers outside the node's own engines.

export { createAdapterFiles } from './adapter-files.ts'
export type { AdapterFile, BackEnd, Line, LoadedAdapter, WriteOptions } from './back-end.ts'
export { createExternalSampler } from './external.ts'
