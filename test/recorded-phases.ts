// Keeps what was reported to it.

import type { Phases, Size } from '../protocol/api/index.ts'

export interface RecordedPhase extends Size {
  name: string
  done: number[]
  /** The count of tokens that was reported last. */
  tokens?: number
}

export function recordedPhases(): { phases: Pick<Phases, 'run'>; all: RecordedPhase[] } {
  const all: RecordedPhase[] = []
  return {
    all,
    phases: {
      async run(name, size, work) {
        const phase: RecordedPhase = { name, ...size, done: [] }
        all.push(phase)
        return await work((done, _total, tokens) => {
          phase.done.push(done)
          if (tokens !== undefined) phase.tokens = tokens
        })
      },
    },
  }
}
