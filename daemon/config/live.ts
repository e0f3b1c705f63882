// The keys that can change while a node runs, and the difference between two configs. All other keys are read once, at
// the start.

import type { Config } from './schema.ts'

/**
 * The loops read these in each round, step or evaluation. The sampling temperature is not among them: waiting groups
 * were sampled at the old one, so their log-probs would no longer match the trainer's.
 */
export const LIVE_KEYS: ReadonlySet<string> = new Set([
  'rollout.groups_per_round',
  'training.learning_rate',
  'training.warm_up_steps',
  'training.weight_decay',
  'training.max_gradient_norm',
  'training.batch_groups',
  'training.batch_ramp_steps',
  'training.max_peer_groups',
  'training.minibatches',
  'swarm.trust',
  'swarm.weights',
  'swarm.audits',
  'training.aggregation',
  'limits.cpu_percent',
  'limits.busy_percent',
  'limits.hours',
  'limits.on_battery',
  'limits.celsius',
  'limits.disk_gb',
  'limits.writes_gb_per_day',
  'limits.up_kb_per_second',
  'limits.down_kb_per_second',
  'limits.network_gb_per_month',
  'limits.weights_mb_per_hour',
  'checkpoint.every_steps',
  'checkpoint.every_seconds',
  'eval.every_seconds',
  'eval.prompts_per_task',
])

export interface ConfigChange {
  path: string
  from: unknown
  to: unknown
}

const holdsNothing: (change: ConfigChange) => boolean = () => false

interface ConfigDifference {
  /** Keys that can change while the node runs. */
  live: ConfigChange[]
  /** Keys that need a restart. */
  restart: ConfigChange[]
}

/** `isHeld` is true for a live key that this node cannot change because of how it was started. */
export function differenceOf(now: Config, next: Config, isHeld = holdsNothing): ConfigDifference {
  const changes = leaves(now, next, [])
  const isLive = (change: ConfigChange): boolean => {
    const { path, from, to } = change
    // The evaluation loop cannot be started or ended while the node runs; only its interval can change.
    if (path === 'eval.every_seconds' && (from === 0 || to === 0)) return false
    return LIVE_KEYS.has(path) && !isHeld(change)
  }
  return { live: changes.filter(isLive), restart: changes.filter((change) => !isLive(change)) }
}

/** The config of a running node. */
export interface LiveConfig {
  /** The settings as they are now. Call it at each use. */
  settings(): Config
  /** Takes the live keys of `next`, and returns the difference. */
  take(next: Config, isHeld?: (change: ConfigChange) => boolean): ConfigDifference
}

export function createLiveConfig(first: Config): LiveConfig {
  let now = first
  return {
    settings: () => now,
    take(next, isHeld = holdsNothing) {
      const difference = differenceOf(now, next, isHeld)
      for (const { path, to } of difference.live) {
        const [section, key] = path.split('.') as [keyof Config & string, string]
        now = { ...now, [section]: { ...(now[section] as object), [key]: to } }
      }
      return difference
    },
  }
}

function leaves(a: unknown, b: unknown, path: string[]): ConfigChange[] {
  if (isTable(a) && isTable(b) && path.length < 2) {
    const keys = [...new Set([...Object.keys(a), ...Object.keys(b)])]
    return keys.flatMap((key) => leaves(a[key], b[key], [...path, key]))
  }
  return JSON.stringify(a) === JSON.stringify(b) ? [] : [{ path: path.join('.'), from: a, to: b }]
}

const isTable = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
