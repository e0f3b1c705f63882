// Connects the exchange of heads to the config, the evaluations and the journal.

import type { Evaluation, Phases } from '../../../protocol/api/index.ts'
import type { HeadTask } from '../../../protocol/wire/index.ts'
import type { Config } from '../../config/schema.ts'
import type { Journal } from '../../control/journal/journal.ts'
import type { LivePolicy } from '../../policy/live-policy.ts'
import type { JoinedPeers } from '../../policy/trained.ts'
import { scorePart } from '../../rollout/evaluation/evaluate.ts'
import type { TaskBook } from '../../rollout/tasks.ts'
import type { Swarm } from '../../swarm/index.ts'
import type { Probation } from '../../trainer/heads/probation.ts'
import type { TrainedOnRecord } from '../../trainer/trained-on.ts'
import { vouchesFor } from '../core.ts'
import { createNodeHeads, type HeadsParts, type NodeHeads } from './heads.ts'

export interface OpenHeadsParts extends Pick<HeadsParts, 'self' | 'isUnknown'> {
  policy: LivePolicy
  probation: Probation
  swarm(): Pick<Swarm, 'heads' | 'peers' | 'isPrivate'> | undefined
  tasks: TaskBook
  journal: Pick<Journal, 'telemetry' | 'evaluation' | 'log'>
  trainedOn: Pick<TrainedOnRecord, 'info'>
  phases: Pick<Phases, 'run'>
  random(): number
  now(): number
  after(ms: number, run: () => void): () => void
  wake(): void
  mustWait(): boolean
  joined?: JoinedPeers | undefined
  /** Whether a plugin learns from teachers. */
  hasTeacher: boolean
  alarm(message: string, goodAt: number): void
  audits?: HeadsParts['audits']
}

/** `isLineageKnown`: false for weights that began with other values than those of peers. */
export function openHeads(
  { settings, isLineageKnown }: { settings(): Config; isLineageKnown: boolean },
  { swarm, tasks, journal, trainedOn, hasTeacher, ...parts }: OpenHeadsParts,
): NodeHeads {
  const newest = (): Evaluation | undefined => journal.telemetry.evaluations.at(-1)
  return createNodeHeads({
    ...parts,
    swarm,
    isOn: () => isLineageKnown && swarm() !== undefined && settings().swarm.weights !== 'off',
    learningRate: () => settings().training.learning_rate,
    batchGroups: () => settings().training.batch_groups,
    mostPerHour: () => settings().limits.weights_mb_per_hour * 1e6,
    hasReceipts: () => settings().swarm.audits,
    mayTeach: () => hasTeacher && settings().swarm.weights === 'teach',
    isTrusted: (peer) => (swarm()?.isPrivate ?? false) || vouchesFor(settings().swarm.trust, peer),
    learnt: () => ({ own: trainedOn.info.trainedOwn, foreign: trainedOn.info.trainedForeign }),
    // Questions of agents, environments and conversations are not known beforehand.
    canTry: () => tasks.chosen.length > 0,
    chosen: () => tasks.chosen.map(({ task, difficulty }) => ({ name: task.name, difficulty })),
    questions: () => settings().eval.prompts_per_task,
    partsOf(samples) {
      const { rollout, eval: held } = settings()
      const round = rollout.groups_per_round * rollout.group_size
      // Own weights and the others answer each.
      const answers = 2 * samples * held.prompts_per_task * tasks.chosen.length
      return Math.max(1, Math.min(held.prompts_per_task * tasks.chosen.length, Math.ceil(answers / round)))
    },
    answer({ samples, ...part }, { generate }) {
      if (!generate) throw new TypeError('this trainer cannot sample')
      const { spec, model } = parts.policy
      const { prompts_per_task: promptsPerTask } = settings().eval
      const { max_completion_tokens: maxNewTokens } = settings().model
      return scorePart(
        { ...part, samples, promptsPerTask, maxNewTokens, context: spec.contextLength },
        { sampler: { generate }, tokenizer: model.tokenizer, tasks, phases: parts.phases },
      )
    },
    record: journal.evaluation,
    tasks: () => tasks.chosen.flatMap(({ task, difficulty }) => accuracyAt(newest(), task.name, difficulty)),
    log: (message) => journal.log('info', message),
  })
}

function accuracyAt(evaluation: Evaluation | undefined, name: string, difficulty: number): HeadTask[] {
  const accuracy = evaluation?.tasks[name]
  return accuracy === undefined ? [] : [{ name, difficulty, accuracy }]
}
