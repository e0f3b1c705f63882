// The generate loop: while there is room for more, asks prompts, writes rollouts, verifies them and hands the groups
// on. It waits for nobody but for room: rollouts that would be too old before they are used are not written.

import type { Random, SelectView } from '../../protocol/plugin/index.ts'
import type { Group } from '../../protocol/train/index.ts'
import type { Host } from '../host/host.ts'
import type { LivePolicy } from '../policy/live-policy.ts'
import type { ParkedGroups } from './parked.ts'
import { playRound } from './round.ts'
import type { TaskBook } from './tasks.ts'
import type { Waker } from './waker.ts'

export interface RolloutLoopOptions {
  groupSize: number
  groupsPerRound: number
  temperature: number
  maxNewTokens: number
  /** Parked groups that were begun more versions ago are forgotten. */
  maxStaleness: number
  /** The fixed set of prompts, where the config has one. */
  candidates?: SelectView['candidates']
  /** Own groups with a signal that may wait to be trained on. */
  maxWaiting: number
  author: string
}

export interface RolloutLoopCollaborators {
  policy: LivePolicy
  host: Host
  tasks: TaskBook
  /** Groups whose writing was interrupted, from round to round. */
  parked: ParkedGroups
  /** Own groups with a signal that wait to be trained on. */
  waiting(): number
  /** Woken when groups have been taken or the node resumes. */
  changed: Waker
  isPaused(): boolean
  /** True for versions whose weights a roll-back has thrown away: what was begun with them is not handed on. */
  isThrownAway(version: number): boolean
  /** Random numbers for the next round; another stream for each, also after a restart. */
  roundRandom(): Random
  now(): number
  monotonic(): number
  sleep(ms: number, signal: AbortSignal): Promise<void>
  onGroup(group: Group): void | Promise<void>
  onRound(round: { seconds: number; tokens: number; groups: number }): void
  onError(error: unknown): void
}

/** First pause after a failure; doubled up to half a minute while it goes on failing. */
const RETRY_MS = 500

export async function runRolloutLoop(
  options: RolloutLoopOptions,
  by: RolloutLoopCollaborators,
  signal: AbortSignal,
): Promise<void> {
  const view: SelectView = {
    tasks: by.tasks.view,
    rollouts: options.groupSize,
    ...(options.candidates ? { candidates: options.candidates } : {}),
  }
  let retry = RETRY_MS
  while (!signal.aborted) {
    const seen = by.changed.count
    if (by.isPaused() || by.waiting() >= options.maxWaiting) {
      await by.changed.after(seen, signal)
      continue
    }
    try {
      const started = by.monotonic()
      const random = by.roundRandom()
      const policy = by.policy.reference()
      const isVoid = (): boolean => by.isThrownAway(policy.version)
      const { tokenizer, spec } = by.policy.model
      const round = await playRound(
        {
          view,
          want: Math.min(options.groupsPerRound, options.maxWaiting - by.waiting()),
          policy,
          maxNewTokens: options.maxNewTokens,
          context: spec.contextLength,
          temperature: options.temperature,
          maxStaleness: options.maxStaleness,
          author: options.author,
          sampleSeed: () => Math.floor(random() * 2 ** 32),
          now: by.now,
          signal,
          isVoid,
        },
        {
          engine: by.policy.sampler,
          tokenizer,
          tasks: by.tasks,
          hooks: by.host.round({ step: policy.version }),
          parked: by.parked,
        },
      )
      by.onRound({
        seconds: (by.monotonic() - started) / 1000,
        tokens: round.tokens,
        groups: round.groups.length,
      })
      for (const group of round.groups) if (!isVoid()) await by.onGroup(group)
      retry = RETRY_MS
    } catch (error) {
      if (signal.aborted) return
      by.onError(error)
      await by.sleep(retry, signal).catch(() => {})
      retry = Math.min(retry * 2, 30_000)
    }
  }
}
