// Records what happens in a node: events for watchers, numbers for snapshots, series for the database. Every part
// reports here once, and the journal alone decides what is shown and kept.

import type { CheckpointInfo, Evaluation, LogLevel, TrainingInfo } from '../../../protocol/api/index.ts'
import { type Group, KEPT_ARM } from '../../../protocol/train/index.ts'
import type { PluginTrouble } from '../../host/host.ts'
import type { StepSeries } from '../../store/database/records.ts'
import type { SwarmEvent } from '../../swarm/index.ts'
import type { Finding } from '../../trainer/learning/contract.ts'
import type { TimedUpdate } from '../../trainer/loop.ts'
import type { TrainedOnRecord } from '../../trainer/trained-on.ts'
import type { EventLog } from './event-log.ts'
import type { Showcase } from './showcase.ts'
import { createTelemetry, type Telemetry } from './telemetry.ts'

interface JournalParts {
  events: EventLog
  showcase: Showcase
  /** One record per step and one per evaluation. */
  steps: StepSeries
  evaluations: StepSeries
  trainedOn: TrainedOnRecord
  now(): number
}

export interface Journal {
  readonly telemetry: Telemetry
  log(level: LogLevel, message: string, data?: Record<string, unknown>): void
  group(group: Group, origin: 'own' | 'foreign'): void
  step(report: TimedUpdate): void
  evaluation(evaluation: Evaluation): void
  /** Something that the learner detected and acted on. */
  finding(finding: Finding, step: number): void
  checkpoint(checkpoint: CheckpointInfo): void
  plugin(trouble: PluginTrouble): void
  swarm(event: SwarmEvent): void
  /** Reports a problem that the user should know about but that does not stop the node. */
  notice(key: string, message: string): void
  /** Marks an area as failing until `recover` is called. Logged again only if the message changes. */
  fail(area: string): (error: unknown) => void
  recover(area: string): void
  /** Message of the first area that is failing. */
  readonly trouble: string | undefined
}

/** Guards that raise an alert. All are counted. */
const ALERTS: Readonly<Record<string, 'failure' | 'warning'>> = {
  'roll-back': 'failure',
  canary: 'warning',
  entropy: 'warning',
  'not finite': 'warning',
}

export async function createJournal(
  { learningRate, logFile }: { /** The rate as it is now. */ learningRate(): number; logFile: string },
  { events, showcase, steps, evaluations, trainedOn, now }: JournalParts,
): Promise<Journal> {
  const telemetry = createTelemetry(
    {
      rewards: (await steps.newest(240))
        .filter(({ record }) => 'reward' in record)
        .map(({ step, record }) => [
          Number(record.time),
          step,
          // Older records have only the mean over recent groups.
          Number(record.own_reward ?? record.reward),
        ]),
      evaluations: (await evaluations.newest(64)).map(({ record }) => JSON.parse(String(record.evaluation))),
    },
    { now, trainedOn },
  )
  const troubles = new Map<string, string>()
  const log: Journal['log'] = (level, message, data) => {
    events.emit({ type: 'log', level, area: 'node', message, ...(data ? { data } : {}) })
  }

  return {
    telemetry,
    log,

    group(group, origin) {
      if (group.arm !== KEPT_ARM) showcase.add(group, origin)
      if (origin === 'own') telemetry.ownGroup(group)
      const { id, prompt, author, rollouts, arm, policy } = group
      events.emit({
        type: 'group',
        id,
        origin,
        author,
        task: prompt.task,
        seed: prompt.seed,
        difficulty: prompt.difficulty,
        version: policy.version,
        rewards: rollouts.map(({ reward, taskReward }) => taskReward ?? reward),
        arm,
      })
    },

    step(report) {
      telemetry.step({ ...report, ...report.watched, clippedShare: clippedShareOf(report) }, learningRate())
      const metrics = metricsOf(report, telemetry.training(report.step))
      events.emit({ type: 'step', step: report.step, version: report.step, metrics })
      // An update that was not taken has the number of the step before.
      if (report.steps > 0) steps.append(report.step, { time: now(), ...metrics })
    },

    finding(finding, step) {
      events.emit({ ...finding, step })
      if (finding.type !== 'guard') return
      telemetry.guard(finding.guard)
      const level = ALERTS[finding.guard]
      if (level) telemetry.alert({ level, key: finding.guard, message: `step ${step}: ${finding.message}` })
    },

    evaluation(evaluation) {
      telemetry.evaluation(evaluation)
      evaluations.append(evaluation.step, { evaluation: JSON.stringify(evaluation) })
      events.emit({ type: 'eval', ...evaluation })
    },

    checkpoint(checkpoint) {
      telemetry.checkpoint(checkpoint)
      events.emit({ type: 'checkpoint', ...checkpoint })
    },

    plugin({ kind, name, hook, message, switchedOff, slow, refused }) {
      const text = `${hook}: ${message}`
      // Only the refused item is lost, so this is not an alert.
      if (refused) {
        events.emit({ type: 'plugin', kind, name, state: 'ok', message: text })
        return
      }
      const state = switchedOff ? 'off' : slow ? 'slow' : 'failing'
      events.emit({ type: 'plugin', kind, name, state, message: text })
      telemetry.alert({
        level: 'warning',
        key: `plugin/${name}`,
        message: `plugin ${name} ${switchedOff ? 'is off' : 'failed'}: ${text}`,
      })
    },

    swarm(event) {
      if (event.type === 'notice') telemetry.alert({ level: 'notice', ...event })
      else if (event.type === 'over') telemetry.clearAlert(event.key)
      else events.emit(event)
    },

    notice(key, message) {
      log('warn', `${key}: ${message}`)
      telemetry.alert({ level: 'warning', key, message })
    },

    fail: (area) => (error) => {
      const message = `${area}: ${error instanceof Error ? error.message : String(error)}`
      if (troubles.get(area) !== message) log('error', message)
      troubles.set(area, message)
      telemetry.alert({ level: 'failure', key: area, message, action: `see ${logFile}` })
    },

    recover(area) {
      if (troubles.delete(area)) telemetry.clearAlert(area)
    },

    get trouble() {
      return troubles.values().next().value
    },
  }
}

function clippedShareOf({ metrics }: TimedUpdate): number {
  const clipped = Object.entries(metrics).filter(([name]) => /\.clip_(low|high|dual)$/.test(name))
  return clipped.reduce((sum, [, share]) => sum + share, 0)
}

/** A step's numbers, by their names on disk. */
function metricsOf(
  report: TimedUpdate,
  { reward, rewardSeries }: Pick<TrainingInfo, 'reward' | 'rewardSeries'>,
): Record<string, number> {
  const newest = rewardSeries?.at(-1)
  return {
    ...report.metrics,
    ...report.pluginMetrics,
    ...report.watched,
    ...(reward === undefined ? {} : { reward }),
    ...(newest?.[1] === report.step ? { own_reward: newest[2] } : {}),
    loss: report.loss,
    gradient_norm: report.gradientNorm,
    own_groups: report.own,
    foreign_groups: report.foreign,
    train_seconds: report.seconds,
    wait_seconds: report.waitSeconds,
    real_tokens: report.realTokens,
    computed_tokens: report.computedTokens,
  }
}
