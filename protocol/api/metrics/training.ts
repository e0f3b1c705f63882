// Metrics of training and evaluation.

import { counter, gauge, histogram, labelled, type Metric } from './metric.ts'

const last = <T>(items: readonly T[] | undefined): T | undefined => items?.[items.length - 1]

export const TRAINING_METRICS: readonly Metric[] = [
  counter(
    'step',
    'training_steps',
    'steps',
    "Optimizer steps since the lineage's start",
    (s) => s.training?.step,
  ),
  gauge(
    'policy_version',
    'training_policy_version',
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
  gauge(
    'eval_time',
    'eval_timestamp_seconds',
    'unix',
    'When held-out accuracy was last measured, in seconds since 1970',
    (s) => {
      const newest = last(s.evaluations)
      return newest && newest.time / 1000
    },
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
  histogram(
    'staleness',
    'training_staleness_versions',
    'versions',
    'Policy versions between sampling and training of a group; as a series, quantiles of the last batch',
    {
      distribution: (s) => s.training?.distributions?.staleness,
      read: (s) =>
        s.training?.staleness && [
          { labels: { quantile: '0.5' }, value: s.training.staleness.p50 },
          { labels: { quantile: '0.95' }, value: s.training.staleness.p95 },
        ],
    },
  ),
  histogram('step_seconds', 'training_step_seconds', 's', 'Time that a step trained; as a series, the last', {
    distribution: (s) => s.training?.distributions?.stepSeconds,
    read: (s) => s.training?.phases?.find(({ name }) => name === 'train')?.seconds,
  }),
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
    'train_speed',
    'training_tokens_per_second',
    'tok/s',
    'Tokens trained on per second',
    (s) => s.training?.trainTokensPerSecond,
  ),
  counter(
    'trained_tokens',
    'training_tokens',
    'tokens',
    'Tokens trained on since the daemon started',
    (s) => s.training?.tokens?.trained,
  ),
  gauge('phase', 'training_phase_seconds', 's', 'Duration of each phase of the last step', (s) =>
    labelled(
      'phase',
      s.training?.phases && Object.fromEntries(s.training.phases.map((p) => [p.name, p.seconds])),
    ),
  ),
  counter('guards', 'training_guard_actions', '', 'Times that a guard has acted, by guard', (s) =>
    labelled('guard', s.training?.guards),
  ),
]
