// Entries, groups and contexts for the tests of skill libraries.

import type { Entry } from '../../../plugins/skills/library/entry.ts'
import { createLibrary, type Library } from '../../../plugins/skills/library/library.ts'
import basicArithmetic from '../../../plugins/tasks/arithmetic/basic-arithmetic.ts'
import {
  createScriptedContext,
  type ScriptedContext,
  type ScriptedOptions,
} from '../../../protocol/plugin/testing/index.ts'
import { type PromptCoordinates, promptKey } from '../../../protocol/train/index.ts'

export { visit } from '../replay/samples.ts'

export const promptOf = (seed: number): PromptCoordinates => ({
  task: 'basic_arithmetic',
  taskVersion: basicArithmetic.version,
  seed,
  difficulty: 1,
})

/** The right answer to `visit`'s prompts. */
export const keyOf = (seed: number): string => basicArithmetic.generate({ seed, difficulty: 1 }).key

/** As the verifier wants it. */
export const answerTo = (seed: number): string => `<answer>${keyOf(seed)}</answer>`

export function contextWith(options: ScriptedOptions = {}): ScriptedContext {
  return createScriptedContext({ tasks: [basicArithmetic], ...options })
}

export const from = (seed: number): string => promptKey(promptOf(seed))

export function put(library: Library, text: string, more: Partial<Entry> = {}): Entry {
  const given = { text, zone: 'a', score: 0, from: from(1), author: 'self', step: 0, ...more }
  const entry = { ...library.admit(given)!, ...(more.uses !== undefined && { uses: more.uses }) }
  library.put(entry)
  return entry
}

export const small = (): Library => createLibrary({ zones: { a: 8, b: 8 }, characters: 100 })
