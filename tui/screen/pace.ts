// A store that reports changes at most at a given rate; the last change is always reported.

import type { Store } from '../data/store.ts'

export function paced(store: Store, leastMs: () => number): Store {
  return {
    ...store,
    subscribe(listener) {
      let timer: NodeJS.Timeout | undefined
      let late = false
      const tell = (): void => {
        const ms = leastMs()
        if (ms === 0) {
          listener()
          return
        }
        if (timer) {
          late = true
          return
        }
        listener()
        timer = setTimeout(() => {
          timer = undefined
          if (!late) return
          late = false
          tell()
        }, ms)
      }
      const off = store.subscribe(tell)
      return () => {
        clearTimeout(timer)
        off()
      }
    },
  }
}
