// A prompt is a set of coordinates in a task, from which every node generates the same question.

/**
 * Identifies one prompt. Question and answer key are a pure function of these four fields, so neither is ever sent:
 * a peer sends coordinates, and the receiver generates the prompt itself.
 */
export interface PromptCoordinates {
  /** Task name, `[a-z][a-z0-9_]{0,63}`. */
  task: string
  /** Version of the task's generator and verifier together; a positive integer. */
  taskVersion: number
  /** Unsigned 32-bit. Seeds from HELD_OUT_SEED up are evaluation prompts and are never trained on. */
  seed: number
  /** An integer within the task's range; the task defines its meaning. */
  difficulty: number
}

/** Training seeds are below this; held-out seeds run from here to 2^32 - 1. */
export const HELD_OUT_SEED = 0x8000_0000

export function isHeldOut(seed: number): boolean {
  return seed >= HELD_OUT_SEED
}

/**
 * A stable key for maps and databases, such as `basic_arithmetic@1/3/1234`: task, version, difficulty, seed.
 */
export function promptKey(at: PromptCoordinates): string {
  return `${at.task}@${at.taskVersion}/${at.difficulty}/${at.seed}`
}
