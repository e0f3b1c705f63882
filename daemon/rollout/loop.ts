// The rollout loop: plays rounds and hands on their groups. It pauses while the training queue is full, because further
// rollouts would be too stale by the time they are used.

import type { Phases } from '../../protocol/api/index.ts'
import type { Random, SelectView } from '../../protocol/plugin/index.ts'
import type { Group, PromptCoordinates } from '../../protocol/train/index.ts'
import type { PluginHost } from '../host/host.ts'
import type { LivePolicy } from '../policy/live-policy.ts'
import type { ParkedGroups } from './parked/parked.ts'
import { playRound } from './round.ts'
import type { TaskBook } from './tasks.ts'
import type { Waker } from './waker.ts'

interface RolloutLoopOptions {
  /** The settings as they are now. */
  settings(): RolloutSettings
  groupSize: number
  temperature: number
  maxNewTokens: number
  /** The fixed set of prompts, if the config asks for one. */
  candidates?: SelectView['candidates']
  author: string
}

interface RolloutSettings {
  groupsPerRound: number
  /** Maximum age of parked groups, in policy versions. Older ones are dropped. */
  maxStaleness: number
  /** Most own groups with a signal in the training queue, and how many must be missing before a round begins. */
  room: { most: number; round: number }
}

interface RolloutLoopParts {
  policy: LivePolicy
  plugins: PluginHost
  phases: Pick<Phases, 'run'>
  tasks: TaskBook
  /** Groups whose writing was interrupted, kept between rounds. */
  parked: ParkedGroups
  /** Number of own groups with a signal in the training queue. */
  waiting(): number
  /** Wakes when groups leave the queue or the node resumes. */
  changed: Waker
  /** Paused by the user, or held back by limits. `changed` wakes when this ends. */
  mustWait(): boolean
  /** True for versions that a roll-back has discarded: their groups are not handed on. */
  isThrownAway(version: number): boolean
  /** Gives a new random stream for each round, also after a restart. */
  roundRandom(): Random
  now(): number
  monotonic(): number
  sleep(ms: number, signal: AbortSignal): Promise<void>
  onGroup(group: Group): void | Promise<void>
  onRound(round: { seconds: number; tokens: number; groups: number }): void
  /** Called once, when a round first leaves out a prompt that leaves no room for an answer. */
  onLeftOut(prompt: PromptCoordinates, tokens: number): void
  onError(error: unknown): void
}

/** First pause after a failure. Doubles with each further failure, up to 30 s. */
const RETRY_MS = 500

export async function runRolloutLoop(
  options: RolloutLoopOptions,
  parts: RolloutLoopParts,
  signal: AbortSignal,
): Promise<void> {
  const view: SelectView = {
    tasks: parts.tasks.view,
    rollouts: options.groupSize,
    ...(options.candidates ? { candidates: options.candidates } : {}),
  }
  let retry = RETRY_MS
  let isLeftOutTold = false
  const onLeftOut = (prompt: PromptCoordinates, tokens: number): void => {
    if (!isLeftOutTold) parts.onLeftOut(prompt, tokens)
    isLeftOutTold = true
  }
  const roomLeft = (): number => options.settings().room.most - parts.waiting()
  while (!signal.aborted) {
    const seen = parts.changed.count
    if (parts.mustWait() || roomLeft() < options.settings().room.round) {
      await parts.changed.after(seen, signal)
      continue
    }
    try {
      const started = parts.monotonic()
      const { groupsPerRound, maxStaleness } = options.settings()
      const random = parts.roundRandom()
      const policy = parts.policy.reference()
      const isVoid = (): boolean => parts.isThrownAway(policy.version)
      const { tokenizer, spec } = parts.policy.model
      const round = await playRound(
        {
          view,
          want: Math.min(groupsPerRound, roomLeft()),
          policy,
          maxNewTokens: options.maxNewTokens,
          context: spec.contextLength,
          vocabulary: spec.vocabulary,
          temperature: options.temperature,
          maxStaleness,
          author: options.author,
          sampleSeed: () => Math.floor(random() * 2 ** 32),
          now: parts.now,
          signal,
          isVoid,
        },
        {
          sampler: parts.policy.sampler,
          tokenizer,
          tasks: parts.tasks,
          hooks: parts.plugins.round({ step: policy.version }),
          parked: parts.parked,
          phases: parts.phases,
          onLeftOut,
        },
      )
      parts.onRound({
        seconds: (parts.monotonic() - started) / 1000,
        tokens: round.tokens,
        groups: round.groups.length,
      })
      for (const group of round.groups) if (!isVoid()) await parts.onGroup(group)
      retry = RETRY_MS
    } catch (error) {
      if (signal.aborted) return
      parts.onError(error)
      await parts.sleep(retry, signal).catch(() => {})
      retry = Math.min(retry * 2, 30_000)
    }
  }
}
