// The prompts of an evaluation: held-out questions, each asked once.
//
// If a level has few questions, different seeds can give the same question. Asking it twice would make intervals look
// narrower than they are. A level with fewer questions than wanted gives nearly all of them. The same count always
// gives the same prompts, and a smaller count gives the first of them.

import type { Task } from '../../../protocol/plugin/index.ts'
import { HELD_OUT_SEED, type PromptCoordinates } from '../../../protocol/train/index.ts'

/**
 * Number of seeds tried per wanted prompt. If a level has exactly as many questions as wanted, one in 3000 is missed.
 */
const TRIES = 8
/** Number of seeds tried between two turns of the event loop. */
const AT_ONCE = 16

const known = new WeakMap<Task, Map<string, Promise<PromptCoordinates[]>>>()

/** Up to `wanted` prompts. */
export function heldOutPrompts(task: Task, difficulty: number, wanted: number): Promise<PromptCoordinates[]> {
  const ofTask = known.get(task) ?? new Map<string, Promise<PromptCoordinates[]>>()
  known.set(task, ofTask)
  const key = `${difficulty}/${wanted}`
  const found = ofTask.get(key) ?? search(task, difficulty, wanted)
  ofTask.set(key, found)
  return found
}

async function search(task: Task, difficulty: number, wanted: number): Promise<PromptCoordinates[]> {
  const count = Math.min(wanted, task.finite?.heldOut(difficulty) ?? wanted)
  const asked = new Set<string>()
  const prompts: PromptCoordinates[] = []
  for (let i = 0; i < TRIES * wanted && prompts.length < count; i++) {
    if (i % AT_ONCE === AT_ONCE - 1) await new Promise((resolve) => setImmediate(resolve))
    const seed = HELD_OUT_SEED + i
    const { question } = task.generate({ seed, difficulty })
    if (asked.has(question)) continue
    asked.add(question)
    prompts.push({ task: task.name, taskVersion: task.version, seed, difficulty })
  }
  return prompts
}
