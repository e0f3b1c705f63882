// The train loop: takes a batch as soon as enough own groups wait, trains on it, and hands the new weights to
// the sampler. It never waits for peers' groups.

import type { Phases } from '../../protocol/api/index.ts'
import type { Group } from '../../protocol/train/index.ts'
import type { Batch, UpdateOutcome } from './learning/contract.ts'

export interface TimedUpdate extends UpdateOutcome {
  waitSeconds: number
}

interface TrainLoopParts {
  /** Decides when a batch is due and trains on it. */
  core: {
    handleAlarms(): Promise<void>
    testNewcomers(): Promise<void>
    nextBatch(): Batch | undefined
    train(batch: Batch): Promise<UpdateOutcome | undefined>
  }
  /** Joins peers' weights that have arrived. */
  exchange(signal: AbortSignal): Promise<void>
  phases: Pick<Phases, 'run'>
  /** Called with the groups of a batch before training on it. */
  onBatch(groups: readonly Group[]): void
  /** Wakes the loop when groups arrive or the node resumes. The loop itself wakes others when it has used groups. */
  changed: { wake(): void; readonly count: number; after(count: number, signal: AbortSignal): Promise<void> }
  /** Paused by the user, or held back by limits. `changed` wakes when this ends. */
  mustWait(): boolean
  monotonic(): number
  sleep(ms: number, signal: AbortSignal): Promise<void>
  /**
   * Called once the sampler has the new weights. Checkpoints are saved in this call, because nothing changes during it.
   */
  onStep(report: TimedUpdate): Promise<void>
  /** Called when no batch is due. */
  onIdle(): Promise<void>
  onError(error: unknown): void
}

const RETRY_MS = 500

export async function runTrainLoop(parts: TrainLoopParts, signal: AbortSignal): Promise<void> {
  let retry = RETRY_MS
  let waitedSince = parts.monotonic()
  let isBusy = false
  while (!signal.aborted) {
    const seen = parts.changed.count
    await parts.core.handleAlarms().catch(parts.onError)
    if (!parts.mustWait())
      await parts.phases.run('meet', {}, () => parts.core.testNewcomers()).catch(parts.onError)
    if (!parts.mustWait()) await parts.exchange(signal).catch(parts.onError)
    if (signal.aborted) return
    const mayTrain = !parts.mustWait()
    const batch = mayTrain ? parts.core.nextBatch() : undefined
    if (!batch) {
      await parts.onIdle()
      // While the trainer was busy, the limit on waiting own groups was lower. The core raises it when it is asked for a
      // batch and none is due, so not while the node has to wait.
      if (isBusy && mayTrain) {
        parts.changed.wake()
        isBusy = false
      }
      await parts.changed.after(seen, signal)
      continue
    }
    isBusy = true
    const waitSeconds = (parts.monotonic() - waitedSince) / 1000
    parts.onBatch(batch.groups)
    try {
      const report = await parts.core.train(batch)
      if (report) await parts.onStep({ ...report, waitSeconds })
      retry = RETRY_MS
    } catch (error) {
      if (signal.aborted) return
      parts.onError(error)
      await parts.sleep(retry, signal).catch(() => {})
      retry = Math.min(retry * 2, 30_000)
    }
    parts.changed.wake()
    waitedSince = parts.monotonic()
  }
}
