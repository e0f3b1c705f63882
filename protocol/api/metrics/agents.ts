// Metrics of rollouts of agents.

import { counter, gauge, labelled, type Metric } from './metric.ts'

export const AGENT_METRICS: readonly Metric[] = [
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
    'agents_rows',
    'agents_rows',
    'rows',
    "Token sequences in finished groups of agents' rollouts",
    (s) => s.agents?.rows,
  ),
  counter(
    'agents_split',
    'agents_split_rollouts',
    'rollouts',
    "Agents' rollouts in finished groups that have several rows",
    (s) => s.agents?.split,
  ),
  counter(
    'agents_undelivered',
    'agents_undelivered_answers',
    'answers',
    'Answers to agents that nobody got; they are not trained on',
    (s) => s.agents?.undelivered?.answers,
  ),
  counter(
    'agents_undelivered_tokens',
    'agents_undelivered_tokens',
    'tokens',
    'Tokens of answers to agents that nobody got',
    (s) => s.agents?.undelivered?.tokens,
  ),
  counter(
    'agents_dropped',
    'agents_dropped_rollouts',
    'rollouts',
    "Agents' rollouts that were dropped, by reason",
    (s) => labelled('reason', s.agents?.dropped),
  ),
  counter(
    'agents_unkept',
    'agents_unkept_settings',
    'calls',
    "Agents' calls with a setting that was ignored, or whose answer is not what a setting asked for, by setting",
    (s) => labelled('setting', s.agents?.unkept),
  ),
]
