// Tells a caller that waits how far a phase is, from time to time.

import { type PhaseName, type Phases, type Progress, progressOf } from '../../../protocol/api/index.ts'

const EVERY_MS = 500

interface TellOptions {
  phases: Pick<Phases, 'list'>
  /** Tell of this phase only. Default: of the most important one. */
  name?: PhaseName | undefined
  onProgress(progress: Progress): void
}

/** Tells until the returned function is called. */
export function tellPhases(
  { phases, name, onProgress }: TellOptions,
  { after }: { after(ms: number, run: () => void): () => void },
): () => void {
  const tell = (): void => {
    const phase = phases.list().find((one) => name === undefined || one.name === name)
    if (phase) onProgress(progressOf(phase))
    cancel = after(EVERY_MS, tell)
  }
  let cancel = after(EVERY_MS, tell)
  return () => cancel()
}
