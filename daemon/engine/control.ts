// Lets a caller end single sequences of a running `generate`. A cut may come at any time. A cut that comes before the
// call takes effect when the call starts. A cut that comes after its sequence has ended does nothing.

import type { Control } from './engine.ts'

export function createControl(): Control {
  const asked = new Set<number>()
  const listeners = new Set<(samples: readonly number[]) => void>()
  return {
    cut(samples) {
      const fresh = samples.filter((sample) => !asked.has(sample))
      if (fresh.length === 0) return
      for (const sample of fresh) asked.add(sample)
      for (const listener of listeners) listener(fresh)
    },
    listen(onCut) {
      if (asked.size > 0) onCut([...asked])
      listeners.add(onCut)
      return () => void listeners.delete(onCut)
    },
  }
}
