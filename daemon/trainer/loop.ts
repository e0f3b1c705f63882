// The train loop: whenever enough own groups wait, takes a batch, updates the policy and hands the new weights to the
// sampler. Waits for nobody: peers' groups are taken if they are there.

import type { BatchView, Random } from '../../protocol/plugin/index.ts'
import { type Group, hasSignal } from '../../protocol/train/index.ts'
import type { TrainRequest } from '../engine/engine.ts'
import type { Host } from '../host/host.ts'
import type { LivePolicy } from '../policy/live-policy.ts'
import { type BatchSizes, chooseBatch } from './batch.ts'
import { type UpdateReport, update } from './update.ts'

export interface TrainLoopOptions {
  sizes: BatchSizes
  minibatches: number
  temperature: number
  /** With the learning rate after the warm-up. */
  optimizer: TrainRequest['optimizer']
  /** Optimizer steps over which the learning rate rises linearly. */
  warmUpSteps: number
  /** This node's peer ID. */
  self: string
}

export interface StepReport extends UpdateReport {
  step: number
  own: number
  foreign: number
  /** Groups that plugins dropped. */
  dropped: number
  rollouts: number
  /** Versions between a group's making and its use, one per group. */
  ages: number[]
  waitSeconds: number
  pluginMetrics: Record<string, number>
  /** Groups by author. */
  authors: Record<string, number>
}

export interface TrainLoopCollaborators {
  policy: LivePolicy
  host: Host
  /** Groups with a signal that wait. */
  waiting(): { own: readonly Group[]; foreign: readonly Group[] }
  /** Takes groups out of the pool: they were used, or dropped as of no use. */
  take(groups: readonly Group[]): void
  /** Woken when groups have come in or the node resumes; to be woken when groups have gone. */
  changed: { wake(): void; readonly count: number; after(count: number, signal: AbortSignal): Promise<void> }
  isPaused(): boolean
  random(stream: string): Random
  monotonic(): number
  sleep(ms: number, signal: AbortSignal): Promise<void>
  /** After the weights are with the sampler. A checkpoint is made in here, while nothing changes. */
  onStep(report: StepReport): Promise<void>
  /** When there is nothing to train on. */
  onIdle(): Promise<void>
  onError(error: unknown): void
}

const RETRY_MS = 500

export async function runTrainLoop(
  options: TrainLoopOptions,
  by: TrainLoopCollaborators,
  signal: AbortSignal,
): Promise<void> {
  let retry = RETRY_MS
  let waitedSince = by.monotonic()
  while (!signal.aborted) {
    const seen = by.changed.count
    const { version } = by.policy.reference()
    const chosen = by.isPaused()
      ? undefined
      : chooseBatch(by.waiting(), options.sizes, by.random(`batch/${version}`))
    if (!chosen) {
      await by.onIdle()
      await by.changed.after(seen, signal)
      continue
    }
    const waitSeconds = (by.monotonic() - waitedSince) / 1000
    by.take(chosen)
    try {
      const report = await trainOn(chosen, options, by)
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

/** Undefined when plugins left nothing to train on. */
async function trainOn(
  chosen: readonly Group[],
  options: TrainLoopOptions,
  { policy, host, random }: TrainLoopCollaborators,
): Promise<Omit<StepReport, 'waitSeconds'> | undefined> {
  const { lineage, tokenizer, version } = policy.reference()
  const view: BatchView = { lineage, tokenizer, version, self: options.self }
  const groups = (await host.group([...chosen], view, version)).filter(hasSignal)
  if (groups.length === 0) return undefined
  const advantages = await host.advantage(groups, version)
  const report = await update(
    groups,
    advantages,
    {
      temperature: options.temperature,
      minibatches: options.minibatches,
      optimizer: {
        ...options.optimizer,
        learningRate:
          options.optimizer.learningRate * Math.min(1, (version + 1) / Math.max(1, options.warmUpSteps)),
      },
      self: options.self,
      lineage,
      version,
    },
    { engine: policy.trainer, objective: host.objective, random: random(`minibatches/${version}`) },
  )
  await policy.advance(report.steps)
  const step = policy.reference().version
  await host.commit({ step, metrics: report.metrics })
  const own = groups.filter(({ author }) => author === options.self).length
  return {
    ...report,
    step,
    own,
    foreign: groups.length - own,
    dropped: chosen.length - groups.length,
    rollouts: groups.reduce((total, { rollouts }) => total + rollouts.length, 0),
    ages: groups.map((group) => Math.max(0, version - group.bornVersion)),
    pluginMetrics: host.takeMetrics(),
    authors: countBy(groups.map(({ author }) => author)),
  }
}

function countBy(names: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1
  return counts
}
