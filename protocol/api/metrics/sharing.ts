// Metrics of the benefit of sharing.

import { gauge, type Metric } from './metric.ts'

export const SHARING_METRICS: readonly Metric[] = [
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
]
