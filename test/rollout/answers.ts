// What a scripted policy answers to easy sums: right for every third seed, and longer and shorter.

import { TASKS } from '../../plugins/tasks/index.ts'

const SUMS = Array.from({ length: 4 }, (_, block) =>
  Array.from({ length: 64 }, (_, i) => TASKS[0]!.generate({ seed: 64 * block + i, difficulty: 0 })),
).flat()

export function keyOf(prompt: string): string {
  return SUMS.find(({ question }) => prompt.includes(question))?.key ?? 'unknown'
}

export function answer(prompt: string, { seed }: { seed: number }): string {
  return `${'. '.repeat(seed % 5)}<answer>${seed % 3 === 0 ? keyOf(prompt) : `no ${seed}`}</answer>`
}

/** A picker of these sums, in order, for ever. */
export function sums() {
  let next = 0
  return {
    select: (view: { rollouts: number }, want: number) =>
      Array.from({ length: want }, () => ({
        prompt: {
          task: 'basic_arithmetic',
          taskVersion: TASKS[0]!.version,
          seed: next++ % SUMS.length,
          difficulty: 0,
        },
        rollouts: view.rollouts,
      })),
  }
}
