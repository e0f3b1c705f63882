// Metrics of what the model has learnt from, and of whether peers' groups hurt.

import { gauge, type Metric } from './metric.ts'

export const SHARING_METRICS: readonly Metric[] = [
  gauge(
    'trained_peers',
    'sharing_trained_peers',
    'peers',
    'Peers whose groups the model has been trained on',
    (s) => s.rollouts?.trainedPeers,
  ),
  gauge(
    'trained_last_hour',
    'sharing_trained_last_hour_groups',
    'groups',
    'Groups that the model was trained on in the last hour, by origin',
    (s) =>
      s.rollouts?.trainedLastHour && [
        { labels: { origin: 'own' }, value: s.rollouts.trainedLastHour.own },
        { labels: { origin: 'foreign' }, value: s.rollouts.trainedLastHour.foreign },
      ],
  ),
  gauge(
    'trained_peers_last_hour',
    'sharing_trained_last_hour_peers',
    'peers',
    'Peers whose groups the model was trained on in the last hour',
    (s) => s.rollouts?.trainedLastHour?.peers,
  ),
  gauge(
    'sharing_effect',
    'sharing_effect',
    '',
    'Progress per compute on foreign groups over that on own ones, minus 1',
    (s) => s.sharing?.effect,
  ),
  gauge(
    'sharing_low',
    'sharing_effect_low',
    '',
    'Lower end of its 95 % confidence interval',
    (s) => s.sharing?.low,
  ),
  gauge(
    'sharing_high',
    'sharing_effect_high',
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
]
