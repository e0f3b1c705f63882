// All metrics of a node: name, meaning, and where the value is in a snapshot. Charts, /v1/series, /metrics, the test of
// the Grafana dashboard and the metrics page all use this table.
//
// Names follow Prometheus: `waggle_<area>_<thing>_<unit>`, counters end in `_total`. Label values come from small
// fixed sets, never from a peer; labels of connected peers are derived from their keys.

import { MAX_METRIC_LABELS } from './requests.ts'
import { LIMIT_NAMES, type PeerInfo, type Snapshot } from './snapshot.ts'

export interface Reading {
  labels?: Record<string, string>
  value: number
}

export interface Metric {
  name: string
  /** Short name for charts, and for /v1/series. */
  series: string
  kind: 'gauge' | 'counter'
  unit: string
  help: string
  /** Its label values change, so no history is kept. */
  passing?: true
  read(snapshot: Snapshot): number | Reading[] | undefined
}

const gauge = (series: string, name: string, unit: string, help: string, read: Metric['read']): Metric => ({
  name: `waggle_${name}`,
  series,
  kind: 'gauge',
  unit,
  help,
  read,
})

const counter = (series: string, name: string, unit: string, help: string, read: Metric['read']): Metric => ({
  name: `waggle_${name}_total`,
  series,
  kind: 'counter',
  unit,
  help,
  read,
})

/** One reading per key; keys beyond the limit are summed as `other`. */
function labelled(label: string, values: Record<string, number> | undefined): Reading[] | undefined {
  if (!values) return undefined
  const entries = Object.entries(values)
  const kept = entries
    .slice(0, MAX_METRIC_LABELS)
    .map(([key, value]) => ({ labels: { [label]: key }, value }))
  const rest = entries.slice(MAX_METRIC_LABELS).reduce((sum, [, value]) => sum + value, 0)
  return entries.length > MAX_METRIC_LABELS ? [...kept, { labels: { [label]: 'other' }, value: rest }] : kept
}

/** Maximum number of connected peers with their own label. */
function byPeer(snapshot: Snapshot, read: (peer: PeerInfo) => number | undefined): Reading[] {
  const connected = snapshot.swarm?.peers.filter(({ state }) => state === 'mesh' || state === 'up') ?? []
  return connected.slice(0, MAX_METRIC_LABELS).flatMap((peer) => {
    const value = read(peer)
    return value === undefined ? [] : [{ labels: { peer: peer.id }, value }]
  })
}

const last = <T>(items: readonly T[] | undefined): T | undefined => items?.[items.length - 1]

export const METRICS: readonly Metric[] = [
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
  counter(
    'step',
    'training_steps',
    'steps',
    "Optimizer steps since the lineage's start",
    (s) => s.training?.step,
  ),
  gauge(
    'policy_version',
    'policy_version',
    '',
    "Policy version since the lineage's start",
    (s) => s.model?.policy.version,
  ),
  gauge(
    'reward',
    'training_reward',
    '',
    "Mean reward of the node's own recent groups",
    (s) => s.training?.reward,
  ),
  gauge(
    'accuracy',
    'training_task_accuracy',
    '',
    "Share of the node's own recent rollouts that were correct, by task",
    (s) => labelled('task', s.training?.taskAccuracy),
  ),
  gauge(
    'eval_accuracy',
    'eval_accuracy',
    '',
    'Held-out accuracy, mean over tasks',
    (s) => last(s.evaluations)?.accuracy,
  ),
  gauge('eval_task_accuracy', 'eval_task_accuracy', '', 'Held-out accuracy, by task', (s) =>
    labelled('task', last(s.evaluations)?.tasks),
  ),
  gauge('loss', 'training_loss', '', 'Loss of the last batch', (s) => s.training?.loss),
  gauge(
    'entropy',
    'training_entropy_nats',
    'nats',
    'Entropy of the policy per token of its own rollouts',
    (s) => s.training?.entropy,
  ),
  gauge(
    'mismatch_kl',
    'training_mismatch_kl_nats',
    'nats',
    'KL of the trainer from the sampler on the same tokens',
    (s) => s.training?.mismatchKl,
  ),
  gauge(
    'ess',
    'training_effective_sample_size_ratio',
    '',
    'Effective sample size of the importance weights over tokens',
    (s) => s.training?.effectiveSampleSize,
  ),
  gauge(
    'clipped',
    'training_clipped_ratio',
    '',
    'Share of tokens that clipping stopped',
    (s) => s.training?.clippedShare,
  ),
  gauge(
    'gradient_norm',
    'training_gradient_norm',
    '',
    'Global norm of the gradient before clipping',
    (s) => s.training?.gradientNorm,
  ),
  gauge('learning_rate', 'training_learning_rate', '', 'AdamW step size', (s) => s.training?.learningRate),
  gauge(
    'staleness',
    'training_staleness_versions',
    'versions',
    'Policy versions between sampling and training',
    (s) =>
      s.training?.staleness && [
        { labels: { quantile: '0.5' }, value: s.training.staleness.p50 },
        { labels: { quantile: '0.95' }, value: s.training.staleness.p95 },
      ],
  ),
  gauge(
    'batch',
    'training_batch_groups',
    'groups',
    'Groups of the last batch, by origin',
    (s) =>
      s.training?.batch && [
        { labels: { origin: 'own' }, value: s.training.batch.own },
        { labels: { origin: 'foreign' }, value: s.training.batch.foreign },
      ],
  ),
  gauge(
    'completion_tokens',
    'rollout_completion_tokens',
    'tokens',
    'Mean length of recent own completions',
    (s) => s.training?.completionTokens,
  ),
  gauge(
    'truncated',
    'rollout_truncated_ratio',
    '',
    'Share of recent own completions that hit the length limit',
    (s) => s.training?.truncatedShare,
  ),
  gauge(
    'generate_speed',
    'generate_tokens_per_second',
    'tok/s',
    'Tokens sampled per second',
    (s) => s.training?.generateTokensPerSecond,
  ),
  gauge(
    'train_speed',
    'train_tokens_per_second',
    'tok/s',
    'Tokens trained on per second',
    (s) => s.training?.trainTokensPerSecond,
  ),
  gauge('phase', 'training_phase_seconds', 's', 'Duration of each phase of the last step', (s) =>
    labelled(
      'phase',
      s.training?.phases && Object.fromEntries(s.training.phases.map((p) => [p.name, p.seconds])),
    ),
  ),
  gauge(
    'signal',
    'rollout_signal_ratio',
    '',
    'Share of recent own groups with some right and some wrong',
    (s) => s.rollouts?.signalShare,
  ),
  gauge(
    'all_right',
    'rollout_all_right_ratio',
    '',
    'Share of recent own groups with nothing wrong',
    (s) => s.rollouts?.allRightShare,
  ),
  gauge(
    'all_wrong',
    'rollout_all_wrong_ratio',
    '',
    'Share of recent own groups with nothing right',
    (s) => s.rollouts?.allWrongShare,
  ),
  gauge(
    'pool',
    'pool_groups',
    'groups',
    'Groups in the pool, by origin',
    (s) =>
      s.rollouts && [
        { labels: { origin: 'own' }, value: s.rollouts.pool.own },
        { labels: { origin: 'foreign' }, value: s.rollouts.pool.foreign },
      ],
  ),
  counter('generated', 'groups_generated', 'groups', "The node's own groups", (s) => s.rollouts?.generated),
  counter(
    'published',
    'groups_published',
    'groups',
    'Own groups given to peers',
    (s) => s.rollouts?.published,
  ),
  counter(
    'received',
    'groups_received',
    'groups',
    'Groups that came from peers',
    (s) => s.rollouts?.received,
  ),
  counter(
    'verified',
    'groups_verified',
    'groups',
    'Foreign groups that this node verified',
    (s) => s.rollouts?.verified,
  ),
  counter(
    'trained',
    'groups_trained',
    'groups',
    'Groups trained on, by origin',
    (s) =>
      s.rollouts && [
        { labels: { origin: 'own' }, value: s.rollouts.trainedOwn },
        { labels: { origin: 'foreign' }, value: s.rollouts.trainedForeign },
      ],
  ),
  counter('refused', 'groups_refused', 'groups', "Peers' groups that were refused, by reason", (s) =>
    labelled('reason', s.rollouts?.refused),
  ),
  counter(
    'dropped_texts',
    'texts_dropped',
    'completions',
    "Peers' completions that this node's tokenizer cannot represent",
    (s) => s.rollouts?.droppedTexts,
  ),
  gauge('peers', 'swarm_peers', 'peers', 'Peers connected', (s) => s.swarm?.connected),
  gauge('peers_known', 'swarm_known_peers', 'peers', 'Peers heard of', (s) => s.swarm?.known),
  gauge(
    'network_month_bytes',
    'swarm_month_bytes',
    'B',
    'Bytes of all connections to peers in this calendar month, over restarts',
    (s) => s.limits?.network?.monthBytes,
  ),
  counter('bytes_in', 'swarm_received_bytes', 'B', 'Bytes from peers', (s) => s.swarm?.bytesIn),
  counter('bytes_out', 'swarm_sent_bytes', 'B', 'Bytes to peers', (s) => s.swarm?.bytesOut),
  {
    ...counter('peer_bytes_in', 'peer_received_bytes', 'B', 'Bytes from each connected peer', (s) =>
      byPeer(s, (peer) => peer.bytesIn),
    ),
    passing: true,
  },
  {
    ...counter('peer_bytes_out', 'peer_sent_bytes', 'B', 'Bytes to each connected peer', (s) =>
      byPeer(s, (peer) => peer.bytesOut),
    ),
    passing: true,
  },
  gauge(
    'sharing_speed_up',
    'sharing_speed_up_ratio',
    '',
    'Times fewer own rollouts to the same progress than alone, as measured',
    (s) => s.sharing?.measured?.value,
  ),
  gauge(
    'sharing_speed_up_low',
    'sharing_speed_up_low_ratio',
    '',
    'Lower end of its 95 % interval',
    (s) => s.sharing?.measured?.low,
  ),
  gauge(
    'sharing_speed_up_high',
    'sharing_speed_up_high_ratio',
    '',
    'Upper end of its 95 % interval',
    (s) => s.sharing?.measured?.high,
  ),
  gauge(
    'sharing_speed_up_expected',
    'sharing_speed_up_expected_ratio',
    '',
    'The same, as expected from the noise scale',
    (s) => s.sharing?.expected?.value,
  ),
  gauge(
    'sharing_noise_scale',
    'sharing_noise_groups',
    'groups',
    'Gradient noise scale: beyond that many groups in a batch, more hardly help',
    (s) => s.sharing?.noise?.value,
  ),
  gauge(
    'sharing_effect',
    'sharing_effect_ratio',
    '',
    'Progress per compute on foreign groups over that on own ones, minus 1',
    (s) => s.sharing?.effect,
  ),
  gauge(
    'sharing_low',
    'sharing_effect_low_ratio',
    '',
    'Lower end of its 95 % confidence interval',
    (s) => s.sharing?.low,
  ),
  gauge(
    'sharing_high',
    'sharing_effect_high_ratio',
    '',
    'Upper end of its 95 % confidence interval',
    (s) => s.sharing?.high,
  ),
  gauge(
    'sharing_verdict',
    'sharing_verdict',
    '',
    '1 for what the comparison says now',
    (s) => s.sharing && [{ labels: { verdict: s.sharing.verdict }, value: 1 }],
  ),
  gauge(
    'sharing_foreign',
    'sharing_foreign_groups',
    'groups',
    'Foreign groups that a batch may have now (J)',
    (s) => s.sharing?.foreign,
  ),
  gauge(
    'sharing_weight',
    'sharing_weight_ratio',
    '',
    'What a step takes of the gradient of a peer of whom nothing is known',
    (s) => s.sharing?.weight,
  ),
  gauge(
    'sharing_comparisons',
    'sharing_comparisons',
    '',
    'Comparisons since that number last changed',
    (s) => s.sharing?.comparisons,
  ),
  gauge(
    'sharing_cost',
    'sharing_cost_ratio',
    '',
    'Share of compute spent on comparing alone',
    (s) => s.sharing?.cost,
  ),
  gauge(
    'set_aside',
    'sharing_set_aside_peers',
    'peers',
    'Peers whose groups are not trained on for now',
    (s) => s.sharing?.contributors.filter(({ setAside }) => setAside !== undefined).length,
  ),
  counter('guards', 'training_guard_actions', '', 'Times that a guard has acted, by guard', (s) =>
    labelled('guard', s.training?.guards),
  ),
  gauge(
    'agents_open',
    'agents_open_rollouts',
    'rollouts',
    "Agents' rollouts that are open",
    (s) => s.agents?.open,
  ),
  gauge(
    'agents_reward',
    'agents_reward',
    '',
    "Mean of recent rewards of agents' rollouts",
    (s) => s.agents?.reward,
  ),
  counter(
    'agents_rewarded',
    'agents_rewarded_rollouts',
    'rollouts',
    "Agents' rollouts that got a reward",
    (s) => s.agents?.rewarded,
  ),
  counter(
    'agents_groups',
    'agents_groups',
    'groups',
    "Finished groups of agents' rollouts",
    (s) => s.agents?.groups,
  ),
  counter(
    'agents_dropped',
    'agents_dropped_rollouts',
    'rollouts',
    "Agents' rollouts that were dropped, by reason",
    (s) => labelled('reason', s.agents?.dropped),
  ),
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
