// For plugin authors: a scripted context for testing single hooks, and the checks that every plugin must pass.

export { type Check, type ConformanceOptions, conformance } from './conformance.ts'
export { createDrive, type Drive, type DriveOptions } from './drive.ts'
export {
  createScriptedContext,
  type ScriptedContext,
  type ScriptedOptions,
  textOf,
  tokensOf,
} from './scripted.ts'
export { withSettings } from './settings.ts'
export { SUMS } from './sums.ts'
