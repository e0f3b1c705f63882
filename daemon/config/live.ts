// Keys that a running node takes on without a restart, and what changed between two configs. Everything that is not
// listed here is read once, when the node starts.

import type { Config } from './schema.ts'

/**
 * Looked at anew by the loops each round, step, or evaluation. Not the sampling temperature: groups that wait were drawn
 * at the old one, and their log-probs would not fit the trainer's any more.
 */
export const LIVE_KEYS: ReadonlySet<string> = new Set([
  'rollout.groups_per_round',
  'training.learning_rate',
  'training.warm_up_steps',
  'training.weight_decay',
  'training.max_gradient_norm',
  'training.own_groups',
  'training.foreign_groups',
  'training.minibatches',
  'training.aggregation',
  'checkpoint.every_steps',
  'eval.every_seconds',
  'eval.prompts_per_task',
])

export interface ConfigChange {
  path: string
  from: unknown
  to: unknown
}

export interface ConfigDifference {
  /** Keys that can change while the node runs. */
  live: ConfigChange[]
  /** Keys that a restart is needed for. */
  restart: ConfigChange[]
}

export function differenceOf(now: Config, next: Config): ConfigDifference {
  const changes = leaves(now, next, [])
  const isLive = ({ path, from, to }: ConfigChange): boolean =>
    // The evaluation loop is there or not; only its pace can change.
    LIVE_KEYS.has(path) && !(path === 'eval.every_seconds' && (from === 0 || to === 0))
  return { live: changes.filter(isLive), restart: changes.filter((change) => !isLive(change)) }
}

/** Writes the live keys of `next` into `now`, in place, and says what was different. */
export function takeOn(now: Config, next: Config): ConfigDifference {
  const difference = differenceOf(now, next)
  for (const { path, to } of difference.live) {
    const [section, key] = path.split('.') as [string, string]
    ;(now as unknown as Record<string, Record<string, unknown>>)[section]![key] = to
  }
  return difference
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
