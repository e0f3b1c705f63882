// Metrics of the exchange of trained weights, and of teachers.

import type { TaughtInfo } from '../../plugin/teacher.ts'
import type { Snapshot } from '../snapshot/index.ts'
import { counter, gauge, type Metric, type Reading } from './metric.ts'

export const HEAD_METRICS: readonly Metric[] = [
  gauge(
    'weights_peers',
    'weights_averaged_peers',
    'peers',
    'Peers whose weights were averaged with own ones in the last ten minutes',
    (s) => s.heads?.peers.length,
  ),
  gauge(
    'weights_groups',
    'weights_averaged_groups',
    'groups',
    'Groups that those peers learnt from, by their own count',
    (s) => s.heads?.peers.reduce((sum, { groups }) => sum + groups, 0),
  ),
  counter(
    'weights_exchanges',
    'weights_exchanges',
    'exchanges',
    'Times that peers were asked for their weights',
    (s) => s.heads?.exchanges,
  ),
  counter(
    'weights_refused',
    'weights_refused',
    'heads',
    'Weights of peers that were malformed',
    (s) => s.heads?.refused,
  ),
  counter(
    'weights_bytes',
    'weights_bytes',
    'bytes',
    'Bytes of weights, by direction',
    (s) =>
      s.heads && [
        { labels: { direction: 'in' }, value: s.heads.bytesIn },
        { labels: { direction: 'out' }, value: s.heads.bytesOut },
      ],
  ),
  counter(
    'audits_seconds',
    'audits_processor_seconds',
    's',
    'Processor time of audits',
    (s) => s.heads?.audits?.seconds,
  ),
  {
    ...gauge(
      'taught_weight',
      'taught_weight',
      '1',
      'How much each teacher counts in a task now, 0 to 1; 0 once the node has caught up with it',
      (s) => byTeacher(s, ({ weight }) => weight),
    ),
    passing: true,
  },
  {
    ...counter(
      'taught_tokens',
      'taught_tokens',
      'tokens',
      'Tokens of own answers that each teacher has scored for training',
      (s) => byTeacher(s, ({ tokens }) => tokens),
    ),
    passing: true,
  },
]

/** No more than the host lets through: 64 a plugin. */
function byTeacher({ plugins }: Snapshot, value: (taught: TaughtInfo) => number): Reading[] | undefined {
  const all = plugins?.flatMap(({ taught = [] }) => taught) ?? []
  if (all.length === 0) return undefined
  return all.map((one) => ({ labels: { task: one.task, teacher: one.teacher }, value: value(one) }))
}
