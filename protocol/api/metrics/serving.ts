// Metrics of calls that belong to no rollout.

import { counter, gauge, type Metric } from './metric.ts'

export const SERVING_METRICS: readonly Metric[] = [
  gauge(
    'serving_running',
    'serving_running_calls',
    'calls',
    'Served calls that are being answered',
    (s) => s.serving?.running,
  ),
  gauge(
    'serving_waiting',
    'serving_waiting_calls',
    'calls',
    'Served calls that wait for their turn',
    (s) => s.serving?.waiting,
  ),
  gauge(
    'serving_tokens_per_second',
    'serving_tokens_per_second',
    'tok/s',
    'Tokens of served answers a second, over ten seconds',
    (s) => s.serving?.tokensPerSecond,
  ),
  gauge(
    'serving_first_token',
    'serving_first_token_seconds',
    's',
    'Time from the latest served call to its first token',
    (s) => s.serving?.firstTokenSeconds,
  ),
  counter(
    'serving_answered',
    'serving_answered_calls',
    'calls',
    'Served calls that got an answer',
    (s) => s.serving?.answered,
  ),
  counter(
    'serving_abandoned',
    'serving_abandoned_calls',
    'calls',
    'Served calls whose client left before the answer',
    (s) => s.serving?.abandoned,
  ),
  counter(
    'serving_refused',
    'serving_refused_calls',
    'calls',
    'Served calls that were refused because too many waited',
    (s) => s.serving?.refused,
  ),
  gauge(
    'serving_kept',
    'serving_kept_calls',
    'calls',
    'Served calls that are kept to be learnt from',
    (s) => s.serving?.learning?.kept,
  ),
  counter(
    'serving_rated',
    'serving_rated_answers',
    'answers',
    'Ratings of served answers',
    (s) => s.serving?.learning?.rated,
  ),
  counter(
    'serving_learnt',
    'serving_learnt_answers',
    'answers',
    'Served answers that were trained on',
    (s) => s.serving?.learning?.learnt,
  ),
  counter('serving_tokens', 'serving_tokens', 'tokens', 'Tokens of served answers', (s) => s.serving?.tokens),
]
