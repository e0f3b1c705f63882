// What is known about recurring prompts: how often each was visited, and its mean reward by the verifier.
//
// Bounded: the least recently visited prompt is forgotten first and then counts as new.

import { type PromptCoordinates, promptKey } from '../../../protocol/train/index.ts'

const MAX = 65_536

export interface Visits {
  /** 0 for a new prompt. */
  count(prompt: PromptCoordinates): number
  mean(prompt: PromptCoordinates): number | undefined
  /** Records a visit with these rewards; `false` adds them to the last visit. */
  add(prompt: PromptCoordinates, rewards: readonly number[], isNew: boolean): void
  save(): Array<[string, number, number, number]>
  load(rows: unknown): void
}

export function createVisits(): Visits {
  /** Key -> visits, rollouts, sum of rewards. */
  const rows = new Map<string, [number, number, number]>()
  return {
    count: (prompt) => rows.get(promptKey(prompt))?.[0] ?? 0,
    mean(prompt) {
      const row = rows.get(promptKey(prompt))
      return row && row[1] > 0 ? row[2] / row[1] : undefined
    },
    add(prompt, rewards, isNew) {
      const key = promptKey(prompt)
      const [visits, rollouts, sum] = rows.get(key) ?? [0, 0, 0]
      rows.delete(key)
      rows.set(key, [
        visits + (isNew ? 1 : 0),
        rollouts + rewards.length,
        rewards.reduce((a, b) => a + b, sum),
      ])
      if (rows.size > MAX) rows.delete(rows.keys().next().value!)
    },
    save: () => [...rows].map(([key, row]) => [key, ...row]),
    load(saved) {
      rows.clear()
      if (!Array.isArray(saved)) return
      for (const [key, ...row] of saved as Array<[string, number, number, number]>)
        if (row.length === 3 && row.every(Number.isFinite)) rows.set(key, row as [number, number, number])
    },
  }
}
