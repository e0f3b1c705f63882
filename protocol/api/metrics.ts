// All metrics of a node: name, meaning, and where the value is in a snapshot. Charts, /v1/series, /metrics, the test of
// the Grafana dashboard and the metrics page all use this table.
//
// Names follow Prometheus: `waggle_<area>_<thing>_<unit>`, counters end in `_total`; those of the process are the usual
// ones. Label values come from small fixed sets, never from a peer; labels of connected peers are derived from their
// keys.

import { AGENT_METRICS } from './metrics/agents.ts'
import { HEAD_METRICS } from './metrics/heads.ts'
import type { Metric } from './metrics/metric.ts'
import { NODE_METRICS } from './metrics/node.ts'
import { ROLLOUT_METRICS } from './metrics/rollouts.ts'
import { SERVING_METRICS } from './metrics/serving.ts'
import { SHARING_METRICS } from './metrics/sharing.ts'
import { SWARM_METRICS } from './metrics/swarm.ts'
import { TRAINING_METRICS } from './metrics/training.ts'

export type { Metric, Reading } from './metrics/metric.ts'

export const METRICS: readonly Metric[] = [
  ...NODE_METRICS,
  ...TRAINING_METRICS,
  ...ROLLOUT_METRICS,
  ...SWARM_METRICS,
  ...SHARING_METRICS,
  ...HEAD_METRICS,
  ...AGENT_METRICS,
  ...SERVING_METRICS,
]
