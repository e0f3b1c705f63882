// Prompt coordinates on the wire.

import type { PromptCoordinates } from '../train/index.ts'
import type { Writable } from './cbor.ts'
import type { Fields } from './fields.ts'
import { MAX_DIFFICULTY, MAX_SEED, TASK_NAME } from './limits.ts'

export function promptBody({ task, taskVersion, seed, difficulty }: PromptCoordinates): Writable {
  return { task, version: taskVersion, seed, difficulty }
}

export function readPrompt(fields: Fields): PromptCoordinates {
  const prompt = {
    task: fields.name('task', TASK_NAME),
    taskVersion: fields.integer('version', 1, 0xffff_ffff),
    seed: fields.integer('seed', 0, MAX_SEED),
    difficulty: fields.integer('difficulty', -MAX_DIFFICULTY, MAX_DIFFICULTY),
  }
  fields.end()
  return prompt
}
