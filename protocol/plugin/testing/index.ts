export {
  createScriptedContext,
  type ScriptedContext,
  type ScriptedOptions,
  textOf,
  tokensOf,
} from './scripted.ts'
