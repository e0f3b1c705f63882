// The reward of a hint in HiLL (arXiv 2604.00698).
//
//   prob_term  1 - p^n - (1-p)^n, the chance that n new rollouts are mixed, or p(1-p); 0 if all n are right or wrong
//   reliance   mean over right rollouts of the mean log-prob per token with the hint minus that without it
//   weight     exp(-max(reliance, 0) / T), at most 1
//   reward     prob_term x weight; 0 unless prob_term is above the plain group's

import type { Context, RoleGroup } from '../../protocol/plugin/index.ts'
import type { Group, Rollout } from '../../protocol/train/index.ts'
import { scoreOf } from './groups.ts'
import type { Candidate } from './hill-hints.ts'

export const HINT_REWARDS = [
  'transfer_weighted_non_deg',
  'non_deg',
  'transfer_weighted_variance',
  'variance',
] as const
type HintRewardKind = (typeof HINT_REWARDS)[number]

interface HintReward {
  reward: number
  /** prob_term. */
  term: number
}

export interface JudgeOptions {
  reward: HintRewardKind
  temperature: number
  failReward: number
  threshold: number
}

type Judged = Candidate & HintReward & { group?: Group }

export function probabilityTerm(kind: HintRewardKind, right: number, n: number): number {
  if (right === 0 || right === n) return 0
  const p = right / n
  return kind.endsWith('variance') ? p * (1 - p) : 1 - p ** n - (1 - p) ** n
}

function isWeighted(kind: HintRewardKind): boolean {
  return kind.startsWith('transfer_weighted')
}

/** The weight; 1 if the reliance is unknown. */
export function transferWeight(reliance: number | undefined, temperature: number): number {
  return reliance === undefined ? 1 : Math.exp(-Math.max(reliance, 0) / temperature)
}

/** The reward of each hint that was rejected or tried. Hints whose rollouts never arrived are left out. */
export async function judge(
  hints: readonly Candidate[],
  landed: ReadonlyMap<string | undefined, Group>,
  options: JudgeOptions,
  context: Context,
): Promise<Judged[]> {
  const judged: Judged[] = []
  for (const hint of hints) {
    const group = landed.get(hint.request?.id)
    if (!hint.request) judged.push({ ...hint, reward: options.failReward, term: 0 })
    else if (group) judged.push({ ...hint, group, ...(await earned(hint.base, group, options, context)) })
  }
  return judged
}

async function earned(
  base: Group,
  group: Group,
  options: JudgeOptions,
  context: Context,
): Promise<HintReward> {
  const right = rightOnes(group, options)
  const term = probabilityTerm(options.reward, right.length, group.rollouts.length)
  const plain = probabilityTerm(options.reward, rightOnes(base, options).length, base.rollouts.length)
  if (term <= plain) return { reward: 0, term }
  if (!isWeighted(options.reward)) return { reward: term, term }
  const gain = await relianceOf(right, { base, group }, context)
  return { reward: term * transferWeight(gain, options.temperature), term }
}

/** The reliance, from scoring each right answer under its own conditioning and under the plain prompt's. */
async function relianceOf(
  right: readonly Rollout[],
  { base, group }: { base: Group; group: Group },
  context: Context,
): Promise<number> {
  const items = right.flatMap(({ tokens, conditioning = group.conditioning }) =>
    [conditioning, base.conditioning].map((prefix) => ({ conditioning: prefix, completion: tokens })),
  )
  const means = (await context.score(items)).map(
    ({ logprobs }) => logprobs.reduce((sum, one) => sum + one, 0) / Math.max(1, logprobs.length),
  )
  return right.reduce((sum, _, i) => sum + means[2 * i]! - means[2 * i + 1]!, 0) / right.length
}

export function rightOnes(group: Group, { threshold }: Pick<JudgeOptions, 'threshold'>): Rollout[] {
  return group.rollouts.filter((one) => scoreOf(one) > threshold)
}

/** A training sample for the hinter: the text with its temperature and log-probs at sampling. */
export function toLearn({ written, reward }: Judged, temperature: number): RoleGroup['rollouts'][number] {
  const { conditioning, tokens, logprobs } = written
  return { conditioning, tokens, logprobs, temperature, reward }
}
