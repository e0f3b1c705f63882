// The loops that drive a node's core: generate, train, evaluate. They wait, report to the journal, publish groups and
// save checkpoints. The core (../core/core.ts) decides what to keep, share and train on.

import type { Phases } from '../../protocol/api/index.ts'
import type { Group } from '../../protocol/train/index.ts'
import { RECIPES } from '../config/recipes/index.ts'
import type { Config } from '../config/schema.ts'
import type { Journal } from '../control/journal/journal.ts'
import type { NodeCore } from '../core/core.ts'
import type { PluginHost } from '../host/host.ts'
import { randomStream } from '../host/random.ts'
import type { LivePolicy } from '../policy/live-policy.ts'
import { candidatePrompts } from '../rollout/candidates.ts'
import { runEvaluationLoop } from '../rollout/evaluation/evaluation-loop.ts'
import { runRolloutLoop } from '../rollout/loop.ts'
import type { ParkedGroups } from '../rollout/parked/parked.ts'
import type { TaskBook } from '../rollout/tasks.ts'
import type { Waker } from '../rollout/waker.ts'
import { draftOf, type Swarm } from '../swarm/index.ts'
import type { TrainingRecord } from '../trainer/checkpoints/training-record.ts'
import { runTrainLoop } from '../trainer/loop.ts'
import type { AuditRounds } from './audits/rounds.ts'
import type { NodeHeads } from './heads/heads.ts'
import { takeOwnGroup } from './own-groups.ts'

interface LoopsOptions {
  settings(): Config
  /** This node's peer ID. */
  self: string
  seed: number
}

interface LoopsParts {
  core: NodeCore
  policy: LivePolicy
  phases: Pick<Phases, 'run'>
  plugins: PluginHost
  tasks: TaskBook
  swarm: Swarm | undefined
  journal: Journal
  /** These groups are trained on now. */
  onBatch(ids: readonly string[]): void
  /** Interrupted rollouts, which are saved with a checkpoint. */
  parked: ParkedGroups
  /** Wakes loops that wait for a change. */
  changed: Waker
  now(): number
  monotonic(): number
  sleep(ms: number, signal: AbortSignal): Promise<void>
  /** Number of the next round. */
  nextRound(): number
  save(): Promise<unknown>
  /** Whether a checkpoint is due and limits allow writing it. */
  isSaveDue(): boolean
  /** Saves a checkpoint if one was requested. */
  serveRequests(): Promise<void>
  /** Ends the engines' threads if the node has been held back for long. */
  restIfDue(): Promise<void>
  /** Paused by the user, or held back by limits. */
  mustWait(): boolean
  record: Pick<TrainingRecord, 'step'>
  heads: Pick<NodeHeads, 'exchange' | 'isRead' | 'ownGroup'>
  audits: Pick<AuditRounds, 'next'>
}

export interface Loops {
  /** Ends each loop at a safe point. */
  end(): Promise<void>
}

export function startLoops({ settings, self, seed }: LoopsOptions, parts: LoopsParts): Loops {
  const config = settings()
  const { core, policy, phases, plugins, tasks, swarm, journal, changed, mustWait, now, monotonic, sleep } =
    parts
  const ending = new AbortController()
  const shared = { policy, phases, plugins, tasks, changed, mustWait, now, monotonic, sleep }

  /** Saves at once after a roll-back; otherwise a crash would lose which authors were just set aside. */
  const saveIfDue = async (): Promise<void> => {
    if (!core.isSaveUrgent && !parts.isSaveDue()) return
    try {
      await parts.save()
      core.onSaved()
      journal.recover('checkpoint')
    } catch (error) {
      journal.fail('checkpoint')(error)
    }
  }

  const generating = runRolloutLoop(
    {
      settings() {
        const { rollout, training } = settings()
        return {
          groupsPerRound: rollout.groups_per_round,
          room: core.room,
          maxStaleness: training.max_staleness,
        }
      },
      groupSize: config.rollout.group_size,
      temperature: config.rollout.temperature,
      maxNewTokens: config.model.max_completion_tokens,
      ...(config.rollout.prompts > 0
        ? { candidates: candidatePrompts(tasks.view, config.rollout.prompts, seed) }
        : {}),
      author: self,
    },
    {
      ...shared,
      // A node without tasks trains on the groups that agents bring.
      mustWait: () => tasks.chosen.length === 0 || mustWait(),
      parked: parts.parked,
      waiting: () => core.waiting('own').length,
      isThrownAway: core.isThrownAway,
      roundRandom: () => randomStream(seed, `round/${parts.nextRound()}`),
      async onGroup(group) {
        const { isShared } = takeOwnGroup(group, { journal, core, heads: parts.heads, changed })
        if (isShared && swarm && parts.heads.isRead()) await publish(group, { swarm, journal })
      },
      onRound(round) {
        core.onRound({ cost: round.seconds })
        if (core.isBarren) changed.wake()
        journal.telemetry.round(round)
        journal.recover('sampling')
      },
      onLeftOut: ({ task }, tokens) =>
        journal.log('warn', leftOutText({ task, tokens, ...policy.model.spec })),
      onError: journal.fail('sampling'),
    },
    ending.signal,
  )

  const training = runTrainLoop(
    {
      ...shared,
      core,
      async exchange(signal) {
        await parts.heads.exchange(signal)
        parts.audits.next()
      },
      onBatch: (groups) => parts.onBatch(groups.map(({ id }) => id)),
      async onStep(report) {
        journal.recover('training')
        journal.step(report)
        if (!report.rolledBack) parts.record.step(report.step)
        for (const [author, groups] of Object.entries(report.authors)) swarm?.used(author, groups)
        await saveIfDue()
        await parts.serveRequests()
      },
      async onIdle() {
        if (core.isBarren && !mustWait()) await core.commitBarrenRound().catch(journal.fail('training'))
        await saveIfDue()
        await parts.serveRequests()
        await parts.restIfDue().catch(journal.fail('checkpoint'))
      },
      onError: journal.fail('training'),
    },
    ending.signal,
  )

  const isEvaluated = tasks.chosen.length > 0 && config.eval.every_seconds > 0
  const evaluating = isEvaluated
    ? evaluate({ settings }, { ...shared, core, journal }, ending.signal)
    : undefined

  return {
    async end() {
      ending.abort()
      await Promise.allSettled([generating, training, evaluating])
    },
  }
}

function leftOutText(of: { task: string; tokens: number; contextLength: number }): string {
  const question = `a question of ${of.task} has ${of.tokens} tokens`
  return `sampling: ${question} and leaves no room for an answer in the model's context of ${of.contextLength}: it is left out, and so are others like it`
}

async function publish(group: Group, { swarm, journal }: { swarm: Swarm; journal: Journal }): Promise<void> {
  try {
    const { recipients } = await swarm.publish(draftOf(group))
    // A group without recipients was not sent.
    if (recipients > 0) journal.telemetry.counters.published += 1
  } catch (error) {
    journal.log('debug', `a group was not published: ${error instanceof Error ? error.message : error}`)
  }
}

function evaluate(
  { settings }: Pick<LoopsOptions, 'settings'>,
  {
    core,
    journal,
    ...shared
  }: Pick<LoopsParts, 'core' | 'journal' | 'policy' | 'phases' | 'tasks' | 'changed' | 'mustWait'> &
    Pick<LoopsParts, 'now' | 'monotonic' | 'sleep'>,
  signal: AbortSignal,
): Promise<void> {
  return runEvaluationLoop(
    {
      settings() {
        const { eval: evaluation, recipe } = settings()
        const looks = recipe === undefined ? [] : RECIPES[recipe].looks.map(({ step }) => step)
        return { everySeconds: evaluation.every_seconds, promptsPerTask: evaluation.prompts_per_task, looks }
      },
      maxNewTokens: settings().model.max_completion_tokens,
    },
    {
      ...shared,
      onEvaluation(evaluation) {
        journal.recover('evaluation')
        if (core.onEvaluation(evaluation)) journal.evaluation(evaluation)
      },
      onError: journal.fail('evaluation'),
    },
    signal,
  )
}
