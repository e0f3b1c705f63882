// Metrics of the node itself: its state, checkpoints, machine and plugins.

import { LIMIT_NAMES } from '../snapshot.ts'
import { gauge, type Metric } from './metric.ts'

export const NODE_METRICS: readonly Metric[] = [
  gauge(
    'up_seconds',
    'node_uptime_seconds',
    's',
    'Time since the daemon started',
    (s) => (s.time - s.node.startedAt) / 1000,
  ),
  gauge('paused', 'node_paused', '', '1 while the operator has paused the node', (s) =>
    s.state === 'PAUSED' ? 1 : 0,
  ),
  gauge(
    'held_back',
    'node_held_back',
    '',
    '1 while this limit of the config holds the node or its network back',
    (s) =>
      s.limits?.holds &&
      LIMIT_NAMES.map((limit) => ({
        labels: { limit },
        value: [...(s.limits?.holds ?? []), ...(s.limits?.network?.holds ?? [])].some(
          (hold) => hold.limit === limit,
        )
          ? 1
          : 0,
      })),
  ),
  gauge('degraded', 'node_degraded', '', '1 while a part of the node does not work', (s) =>
    s.state === 'DEGRADED' ? 1 : 0,
  ),
  gauge('alerts', 'node_alerts', '', 'Things an operator should look at', (s) => s.alerts?.length),
  gauge(
    'checkpoint_age',
    'checkpoint_age_seconds',
    's',
    'Time since the last checkpoint',
    (s) => s.checkpoint && (s.time - s.checkpoint.time) / 1000,
  ),
  gauge(
    'checkpoint_step',
    'checkpoint_step',
    'steps',
    'Step of the last checkpoint',
    (s) => s.checkpoint?.step,
  ),
  gauge('rss', 'process_resident_bytes', 'B', 'Memory of the daemon', (s) => s.machine?.rssBytes),
  gauge('cpu', 'process_cpu_cores', 'cores', 'CPU used by the daemon', (s) => s.machine?.cpuCores),
  gauge(
    'loop_lag',
    'process_loop_lag_seconds',
    's',
    "Worst recent delay of the main thread's event loop",
    (s) => (s.machine?.loopLagMs === undefined ? undefined : s.machine.loopLagMs / 1000),
  ),
  gauge(
    'disk_free',
    'disk_free_bytes',
    'B',
    'Free space where the state is',
    (s) => s.machine?.diskFreeBytes,
  ),
  gauge(
    'state_bytes',
    'disk_state_bytes',
    'B',
    "Size of the node's state on disk",
    (s) => s.machine?.stateBytes,
  ),
  gauge(
    'plugins_off',
    'plugins_off',
    'plugins',
    'Plugins that were switched off',
    (s) => s.plugins?.filter((p) => p.state === 'off').length,
  ),
]
