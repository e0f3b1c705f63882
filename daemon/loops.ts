// The composition root's second half: the generate, train and evaluation loops, joined to pool, swarm, journal and
// checkpoints. Each loop knows its own collaborators only; what they share is put together here.

import { type Group, hasSignal } from '../protocol/train/index.ts'
import type { Config } from './config/schema.ts'
import type { Journal } from './control/journal.ts'
import type { Showcase } from './control/showcase.ts'
import type { Host } from './host/host.ts'
import { randomStream } from './host/random.ts'
import type { LivePolicy } from './policy/live-policy.ts'
import { runEvaluationLoop } from './rollout/evaluation-loop.ts'
import { runRolloutLoop } from './rollout/loop.ts'
import type { TaskBook } from './rollout/tasks.ts'
import type { Waker } from './rollout/waker.ts'
import type { Pool } from './store/pool.ts'
import { draftOf, type Swarm } from './swarm/index.ts'
import { runTrainLoop } from './trainer/loop.ts'

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
  /** Woken when something changed that a loop may wait for. */
  changed: Waker
  now(): number
  monotonic(): number
  sleep(ms: number, signal: AbortSignal): Promise<void>
  /** Number of the next round of prompts. */
  nextRound(): number
  save(): Promise<unknown>
  /** Makes checkpoints that were asked for from outside. */
  serveRequests(): Promise<void>
  isPaused(): boolean
}

/** Starts them all. Calling the result ends them, each at a point where nothing is half done. */
export function startLoops({ config, self, seed }: LoopsOptions, parts: LoopsParts): () => Promise<void> {
  // Read when used, since these may change while the node runs: see config/live.ts.
  const { policy, tasks, pool, swarm, journal, changed, isPaused, now, monotonic, sleep } = parts
  const ending = new AbortController()
  const shared = { policy, host: parts.host, tasks, changed, isPaused, now, monotonic, sleep }
  const waitingFor = (origin: 'own' | 'foreign'): Group[] =>
    pool
      .select({
        origin,
        count: POOL_GROUPS,
        order: 'newest',
        where: ({ group, uses }) => uses === 0 && hasSignal(group),
      })
      .map(({ group }) => group)

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
        return 2 * config.training.own_groups
      },
      author: self,
    },
    {
      ...shared,
      waiting: () => waitingFor('own').length,
      roundRandom: () => randomStream(seed, `round/${parts.nextRound()}`),
      async onGroup(group) {
        journal.group(group, 'own')
        if (!hasSignal(group)) return
        if (pool.add(group, 'own')) changed.wake()
        await publish(group)
      },
      onRound(round) {
        journal.telemetry.round(round)
        journal.recover('sampling')
      },
      onError: journal.fail('sampling'),
    },
    ending.signal,
  )

  const training = runTrainLoop(
    {
      get sizes() {
        return { own: config.training.own_groups, foreign: config.training.foreign_groups }
      },
      get minibatches() {
        return config.training.minibatches
      },
      get warmUpSteps() {
        return config.training.warm_up_steps
      },
      temperature: config.rollout.temperature,
      get optimizer() {
        return {
          learningRate: config.training.learning_rate,
          beta1: 0.9,
          beta2: 0.99,
          epsilon: 1e-8,
          weightDecay: config.training.weight_decay,
          maxGradientNorm: config.training.max_gradient_norm,
        }
      },
      self,
    },
    {
      ...shared,
      waiting: () => ({ own: waitingFor('own'), foreign: waitingFor('foreign') }),
      take(groups) {
        const ids = groups.map(({ id }) => id)
        parts.showcase.used(ids)
        pool.markUsed(ids, policy.reference().version)
      },
      random: (stream) => randomStream(seed, stream),
      async onStep(report) {
        journal.recover('training')
        journal.step(report)
        for (const [author, groups] of Object.entries(report.authors)) {
          if (author !== self) swarm?.used(author, groups)
        }
        const isOld = (group: Group): boolean =>
          report.step - group.bornVersion > config.training.max_staleness
        pool.evict(({ uses, group }) => uses > 0 || isOld(group))
        if (report.step % config.checkpoint.every_steps < config.training.minibatches) {
          await parts.save().then(() => journal.recover('checkpoint'), journal.fail('checkpoint'))
        }
        await parts.serveRequests()
      },
      onIdle: parts.serveRequests,
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
          { ...shared, onEvaluation: journal.evaluation, onError: journal.fail('evaluation') },
          ending.signal,
        )
      : undefined

  return async () => {
    ending.abort()
    await Promise.allSettled([generating, training, evaluating])
  }
}
