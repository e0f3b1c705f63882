// Metrics of the exchange of trained weights.

import { counter, gauge, type Metric } from './metric.ts'

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
]
