// The composition root's second half: the generate, train and evaluation loops, joined to pool, swarm, journal and
// checkpoints. Each loop knows its own collaborators only; what they share is put together here.

import { type Group, hasSignal, isShareable } from '../protocol/train/index.ts'
import { MAX_ROLLOUTS, MIN_ROLLOUTS } from '../protocol/wire/index.ts'
import type { Config } from './config/schema.ts'
import type { Journal } from './control/journal.ts'
import type { Showcase } from './control/showcase.ts'
import type { TrainRequest } from './engine/engine.ts'
import type { Host } from './host/host.ts'
import { randomStream } from './host/random.ts'
import type { LivePolicy } from './policy/live-policy.ts'
import { candidatePrompts } from './rollout/candidates.ts'
import { mostWaiting } from './rollout/capacity.ts'
import { runEvaluationLoop } from './rollout/evaluation-loop.ts'
import { runRolloutLoop } from './rollout/loop.ts'
import type { ParkedGroups } from './rollout/parked.ts'
import type { TaskBook } from './rollout/tasks.ts'
import type { Waker } from './rollout/waker.ts'
import type { Pool } from './store/pool.ts'
import { draftOf, type Swarm } from './swarm/index.ts'
import { createLearner, type Learner } from './trainer/learner.ts'
import { runTrainLoop } from './trainer/loop.ts'
import type { Role } from './trainer/roles.ts'
import type { LearnerState } from './trainer/sharing/evidence.ts'

/** Groups of each origin that are kept at most. */
export const POOL_GROUPS = 512

export interface LoopsOptions {
  config: Config
  /** This node's peer ID. */
  self: string
  seed: number
}

export interface LoopsParts {
  policy: LivePolicy
  host: Host
  tasks: TaskBook
  pool: Pool
  swarm: Swarm | undefined
  journal: Journal
  showcase: Showcase
  /** Groups whose writing was interrupted; saved with a checkpoint. */
  parked: ParkedGroups
  /** Woken when something changed that a loop may wait for. */
  changed: Waker
  now(): number
  monotonic(): number
  sleep(ms: number, signal: AbortSignal): Promise<void>
  /** Number of the next round of prompts. */
  nextRound(): number
  save(): Promise<unknown>
  /** As LearnerParts' restore, less the groups. */
  restore(before: number): Promise<{ step: number } | undefined>
  /** Of the learner, from the checkpoint that the node continues. */
  restored?: LearnerState | undefined
  /** Models of plugins beside the policy. */
  roles: ReadonlyMap<string, Role>
  /** Makes checkpoints that were asked for from outside. */
  serveRequests(): Promise<void>
  isPaused(): boolean
}

export interface Loops {
  learner: Learner
  /** Ends them, each at a point where nothing is half done. */
  end(): Promise<void>
}

/** AdamW as the config has it. */
export function optimizerOf({ training }: Config): TrainRequest['optimizer'] {
  return {
    learningRate: training.learning_rate,
    beta1: 0.9,
    beta2: 0.99,
    epsilon: 1e-8,
    weightDecay: training.weight_decay,
    maxGradientNorm: training.max_gradient_norm,
  }
}

/** Of old rounds in what an own group takes to make. */
const FADE = 0.9

export function startLoops({ config, self, seed }: LoopsOptions, parts: LoopsParts): Loops {
  // Read when used, since these may change while the node runs: see config/live.ts.
  const { policy, tasks, pool, swarm, journal, changed, isPaused, now, monotonic, sleep } = parts
  const ending = new AbortController()
  const shared = { policy, host: parts.host, tasks, changed, isPaused, now, monotonic, sleep }
  const isUseful = (group: Group): boolean =>
    parts.host.learnsFromAny || group.always === true || hasSignal(group)
  const waitingFor = (origin: 'own' | 'foreign'): Group[] =>
    pool
      .select({
        origin,
        count: POOL_GROUPS,
        order: 'newest',
        where: ({ group, uses }) => uses === 0 && isUseful(group),
      })
      .map(({ group }) => group)

  /** Whether the newest round brought a group to train on, and whether one did not. */
  let brought = true
  let barren = false
  /** Weights up to this version were thrown away in a roll-back; versions do not go back in one. */
  let thrownAway = -1
  /** The checkpoints that are left do not know of the last roll-back. */
  let wentBack = false
  /** Seconds of recent rounds, and own groups with a signal that came of them. */
  const generation = { seconds: 0, groups: 0 }
  const learner = createLearner(
    {
      get sizes() {
        return { own: config.training.own_groups, foreign: config.training.foreign_groups }
      },
      get minibatches() {
        return config.training.minibatches
      },
      get aggregation() {
        return { mode: config.training.aggregation, length: config.model.max_completion_tokens }
      },
      get warmUpSteps() {
        return config.training.warm_up_steps
      },
      temperature: config.rollout.temperature,
      get optimizer() {
        return optimizerOf(config)
      },
      self,
      adaptive: config.training.adaptive_sharing,
      restored: parts.restored,
    },
    {
      policy,
      host: parts.host,
      random: (stream) => randomStream(seed, stream),
      cost: ({ author, groups, seconds }) =>
        seconds + (author === undefined ? (groups * generation.seconds) / Math.max(1, generation.groups) : 0),
      peers: () => swarm?.counters().connected ?? 0,
      roles: parts.roles,
      onFinding: (finding) => journal.finding(finding, policy.reference().version),
      async restore(before) {
        const earlier = thrownAway
        // From here on: the round that is under way ends before all is restored.
        thrownAway = policy.reference().version
        let restored: { step: number } | undefined
        try {
          restored = await parts.restore(before)
        } finally {
          if (!restored) thrownAway = earlier
        }
        // What the policy of the bad steps wrote is not to teach the next ones.
        if (restored) {
          wentBack = true
          pool.evict(({ origin, uses }) => origin === 'own' && uses === 0)
          parts.parked.clear()
        }
        return restored
      },
    },
  )

  const save = async (): Promise<void> => {
    try {
      await parts.save()
      wentBack = false
      journal.recover('checkpoint')
    } catch (error) {
      journal.fail('checkpoint')(error)
    }
  }
  /** Without it, a node that dies now would begin again with peers that it has just set aside. */
  const saveAfterRollBack = async (): Promise<void> => {
    if (wentBack) await save()
  }

  const publish = async (group: Group): Promise<void> => {
    try {
      await swarm?.publish(draftOf(group))
      if (swarm) journal.telemetry.counters.published += 1
    } catch (error) {
      journal.log('debug', `a group was not published: ${error instanceof Error ? error.message : error}`)
    }
  }

  const generating = runRolloutLoop(
    {
      groupSize: config.rollout.group_size,
      get groupsPerRound() {
        return config.rollout.groups_per_round
      },
      temperature: config.rollout.temperature,
      maxNewTokens: config.model.max_completion_tokens,
      get maxWaiting() {
        return mostWaiting(config.training.own_groups, config.training.max_staleness)
      },
      get maxStaleness() {
        return config.training.max_staleness
      },
      ...(config.rollout.prompts > 0
        ? { candidates: candidatePrompts(tasks.view, config.rollout.prompts, seed) }
        : {}),
      author: self,
    },
    {
      ...shared,
      parked: parts.parked,
      waiting: () => waitingFor('own').length,
      isThrownAway: (version) => version <= thrownAway,
      roundRandom: () => randomStream(seed, `round/${parts.nextRound()}`),
      async onGroup(group) {
        journal.group(group, 'own')
        learner.ownGroup(group)
        if (!isUseful(group)) {
          // The train loop looks up: this may have been one too many without a signal.
          changed.wake()
          return
        }
        generation.groups += 1
        brought = true
        if (pool.add(group, 'own')) changed.wake()
        if (isShareable(group) && hasRoom(group)) await publish(group)
      },
      onRound(round) {
        // Of the round before: its groups have come in by now.
        if (!brought) {
          barren = true
          changed.wake()
        }
        brought = false
        journal.telemetry.round(round)
        generation.seconds = FADE * generation.seconds + round.seconds
        generation.groups *= FADE
        journal.recover('sampling')
      },
      onError: journal.fail('sampling'),
    },
    ending.signal,
  )

  const training = runTrainLoop(
    {
      ...shared,
      learner,
      waiting: () => ({ own: waitingFor('own'), foreign: waitingFor('foreign') }),
      take(groups) {
        const ids = groups.map(({ id }) => id)
        parts.showcase.used(ids)
        pool.markUsed(ids, policy.reference().version)
      },
      async onStep(report) {
        journal.recover('training')
        journal.step(report)
        for (const [author, groups] of Object.entries(report.authors)) {
          if (author !== self) swarm?.used(author, groups)
        }
        const isOld = (group: Group): boolean =>
          report.step - group.bornVersion > config.training.max_staleness
        pool.evict(({ uses, group }) => uses > 0 || isOld(group))
        if (report.step % config.checkpoint.every_steps < config.training.minibatches) await save()
        await saveAfterRollBack()
        await parts.serveRequests()
      },
      async onIdle() {
        if (barren && !isPaused()) {
          barren = false
          await learner.settle().catch(journal.fail('training'))
        }
        await saveAfterRollBack()
        await parts.serveRequests()
      },
      onError: journal.fail('training'),
    },
    ending.signal,
  )

  const evaluating =
    config.eval.every_seconds > 0
      ? runEvaluationLoop(
          {
            get everySeconds() {
              return config.eval.every_seconds
            },
            get promptsPerTask() {
              return config.eval.prompts_per_task
            },
            maxNewTokens: config.model.max_completion_tokens,
          },
          {
            ...shared,
            onEvaluation(evaluation) {
              journal.evaluation(evaluation)
              learner.evaluation(evaluation.accuracy, evaluation.prompts)
            },
            onError: journal.fail('evaluation'),
          },
          ending.signal,
        )
      : undefined

  return {
    learner,
    async end() {
      ending.abort()
      await Promise.allSettled([generating, training, evaluating])
    },
  }
}

/** Peers take no groups of one, and none that a plugin has made larger than a message may be. */
function hasRoom({ rollouts }: Group): boolean {
  return rollouts.length >= MIN_ROLLOUTS && rollouts.length <= MAX_ROLLOUTS
}
