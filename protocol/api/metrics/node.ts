// Metrics of the node itself: its state, checkpoints, machine and plugins.

import { LIMIT_NAMES } from '../snapshot/index.ts'
import { counter, gauge, type Metric, standard } from './metric.ts'

export const NODE_METRICS: readonly Metric[] = [
  standard(
    'process_start_time_seconds',
    gauge(
      'started',
      'started',
      'unix',
      'When the daemon started, in seconds since 1970',
      (s) => s.node.startedAt / 1000,
    ),
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
    'checkpoint_time',
    'checkpoint_timestamp_seconds',
    'unix',
    'When the last checkpoint was saved, in seconds since 1970',
    (s) => s.checkpoint && s.checkpoint.time / 1000,
  ),
  gauge(
    'checkpoint_step',
    'checkpoint_step',
    'steps',
    'Step of the last checkpoint',
    (s) => s.checkpoint?.step,
  ),
  standard(
    'process_resident_memory_bytes',
    gauge('rss', 'rss', 'B', 'Memory of the daemon', (s) => s.machine?.rssBytes),
  ),
  standard(
    'process_cpu_seconds_total',
    counter('cpu_seconds', 'cpu', 's', 'Processor time of the daemon', (s) => s.machine?.cpuSeconds),
  ),
  gauge('cpu', 'process_cpu_cores', 'cores', 'CPU used by the daemon', (s) => s.machine?.cpuCores),
  gauge(
    'loop_lag',
    'process_loop_lag_seconds',
    's',
    "Worst recent delay of the main thread's event loop, up to 0.1 s too low",
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
