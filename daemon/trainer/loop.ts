// The train loop: whenever enough own groups wait, takes a batch, has it learnt from and hands the new weights to the
// sampler. Waits for nobody: peers' groups are taken if they are there.

import type { Group } from '../../protocol/train/index.ts'
import type { Learner, StepReport as LearnerReport } from './learner.ts'

export interface StepReport extends LearnerReport {
  waitSeconds: number
}

export interface TrainLoopCollaborators {
  learner: Learner
  /** Groups with a signal that wait. */
  waiting(): { own: readonly Group[]; foreign: readonly Group[] }
  /** Takes groups out of the pool: they were used, or dropped as of no use. */
  take(groups: readonly Group[]): void
  /** Woken when groups have come in or the node resumes; to be woken when groups have gone. */
  changed: { wake(): void; readonly count: number; after(count: number, signal: AbortSignal): Promise<void> }
  isPaused(): boolean
  monotonic(): number
  sleep(ms: number, signal: AbortSignal): Promise<void>
  /** After the weights are with the sampler. A checkpoint is made in here, while nothing changes. */
  onStep(report: StepReport): Promise<void>
  /** When there is nothing to train on. */
  onIdle(): Promise<void>
  onError(error: unknown): void
}

const RETRY_MS = 500

export async function runTrainLoop(by: TrainLoopCollaborators, signal: AbortSignal): Promise<void> {
  let retry = RETRY_MS
  let waitedSince = by.monotonic()
  while (!signal.aborted) {
    const seen = by.changed.count
    await by.learner.attend().catch(by.onError)
    const batch = by.isPaused() ? undefined : by.learner.choose(by.waiting())
    if (!batch) {
      await by.onIdle()
      await by.changed.after(seen, signal)
      continue
    }
    const waitSeconds = (by.monotonic() - waitedSince) / 1000
    by.take(batch.groups)
    try {
      const report = await by.learner.train(batch)
      if (report) await by.onStep({ ...report, waitSeconds })
      retry = RETRY_MS
    } catch (error) {
      if (signal.aborted) return
      by.onError(error)
      await by.sleep(retry, signal).catch(() => {})
      retry = Math.min(retry * 2, 30_000)
    }
    by.changed.wake()
    waitedSince = by.monotonic()
  }
}
