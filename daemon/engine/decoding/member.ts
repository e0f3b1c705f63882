// A call whose samples are decoded.

import type { GenerateCall } from '../core.ts'
import type { Endings } from '../sampling/endings.ts'
import type { Writer } from '../sampling/writer.ts'
import type { Prompt } from './prompts.ts'

export interface Member {
  call: GenerateCall
  endings: Endings
  write: Writer
  promptOf: readonly Prompt[]
  /** Samples that have not started. */
  waiting: number[]
  /** Most tokens that any of its sequences may reach, prompt included. */
  longest: number
}
