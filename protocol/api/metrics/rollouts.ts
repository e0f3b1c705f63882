// Metrics of rollouts and of groups, own and foreign.

import { counter, gauge, histogram, labelled, type Metric } from './metric.ts'

export const ROLLOUT_METRICS: readonly Metric[] = [
  histogram(
    'completion_tokens',
    'rollout_completion_tokens',
    'tokens',
    'Length of own completions; as a series, the mean of recent ones',
    {
      distribution: (s) => s.training?.distributions?.completionTokens,
      read: (s) => s.training?.completionTokens,
    },
  ),
  counter(
    'sampled_tokens',
    'rollout_tokens',
    'tokens',
    'Tokens sampled since the daemon started',
    (s) => s.training?.tokens?.sampled,
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
    'rollout_tokens_per_second',
    'tok/s',
    'Tokens sampled per second',
    (s) => s.training?.generateTokensPerSecond,
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
    'groups_dropped_texts',
    'completions',
    "Peers' completions that this node's tokenizer cannot represent",
    (s) => s.rollouts?.droppedTexts,
  ),
]
