// What a node tells about what happens to it: events for those who watch, numbers for snapshots, series for the store.
// Every part reports here once, and nothing else decides what is shown or kept.

import type { CheckpointInfo, Evaluation, LogLevel } from '../../protocol/api/index.ts'
import type { Group } from '../../protocol/train/index.ts'
import type { PluginTrouble } from '../host/host.ts'
import type { StepSeries } from '../store/records.ts'
import type { SwarmEvent } from '../swarm/index.ts'
import type { Finding } from '../trainer/learner.ts'
import type { StepReport } from '../trainer/loop.ts'
import type { EventLog } from './event-log.ts'
import type { Showcase } from './showcase.ts'
import { createTelemetry, type Telemetry } from './telemetry.ts'

export interface JournalParts {
  events: EventLog
  showcase: Showcase
  /** One record a training step, and one an evaluation. */
  steps: StepSeries
  evaluations: StepSeries
  now(): number
}

export interface Journal {
  readonly telemetry: Telemetry
  log(level: LogLevel, message: string, data?: Record<string, unknown>): void
  group(group: Group, origin: 'own' | 'foreign'): void
  step(report: StepReport): void
  evaluation(evaluation: Evaluation): void
  /** What the learner saw and acted on. */
  finding(finding: Finding, step: number): void
  checkpoint(checkpoint: CheckpointInfo): void
  plugin(trouble: PluginTrouble): void
  swarm(event: Exclude<SwarmEvent, { type: 'group' }>): void
  /** What a person should know of, though the node goes on. */
  notice(key: string, message: string): void
  /** An area does not work, until it is said to. Told once for as long as the reason stays the same. */
  fail(area: string): (error: unknown) => void
  recover(area: string): void
  /** The first thing that does not work now. */
  readonly trouble: string | undefined
}

export async function createJournal(
  { training, logFile }: { training: { readonly learning_rate: number }; logFile: string },
  { events, showcase, steps, evaluations, now }: JournalParts,
): Promise<Journal> {
  const telemetry = createTelemetry(
    {
      rewards: (await steps.newest(240)).map(({ step, record }) => [
        Number(record.time),
        step,
        Number(record.reward),
      ]),
      evaluations: (await evaluations.newest(64)).map(({ record }) => JSON.parse(String(record.evaluation))),
    },
    { now },
  )
  const troubles = new Map<string, string>()
  const log: Journal['log'] = (level, message, data) => {
    events.emit({ type: 'log', level, area: 'node', message, ...(data ? { data } : {}) })
  }

  return {
    telemetry,
    log,

    group(group, origin) {
      showcase.add(group, origin)
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
      const clipped = Object.entries(report.metrics).filter(([name]) => /\.clip_(low|high|dual)$/.test(name))
      const clippedShare = clipped.reduce((sum, [, share]) => sum + share, 0)
      telemetry.step({ ...report, ...report.watched, clippedShare }, training.learning_rate)
      const { reward } = telemetry.training(report.step)
      const metrics: Record<string, number> = {
        ...report.metrics,
        ...report.pluginMetrics,
        ...report.watched,
        ...(reward === undefined ? {} : { reward }),
        loss: report.loss,
        gradient_norm: report.gradientNorm,
        own_groups: report.own,
        foreign_groups: report.foreign,
        train_seconds: report.seconds,
        wait_seconds: report.waitSeconds,
        real_tokens: report.realTokens,
        computed_tokens: report.computedTokens,
      }
      events.emit({ type: 'step', step: report.step, version: report.step, metrics })
      steps.append(report.step, { time: now(), ...metrics })
    },

    finding(finding, step) {
      events.emit({ ...finding, step })
      if (finding.type !== 'guard') return
      telemetry.guard(finding.guard)
      // Guards that act by the step are counted; what a person should know of is an alert.
      const level = {
        'roll-back': 'failure',
        canary: 'warning',
        entropy: 'warning',
        'not finite': 'warning',
      } as const
      const { guard, message } = finding
      if (guard in level)
        telemetry.alert({
          level: level[guard as keyof typeof level],
          key: guard,
          message: `step ${step}: ${message}`,
        })
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

    plugin({ kind, name, hook, message, switchedOff, refused }) {
      const text = `${hook}: ${message}`
      // What was refused cost nothing but itself: told, and no reason to look after the plugin.
      if (refused) {
        events.emit({ type: 'plugin', kind, name, state: 'ok', message: text })
        return
      }
      events.emit({ type: 'plugin', kind, name, state: switchedOff ? 'off' : 'slow', message: text })
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
