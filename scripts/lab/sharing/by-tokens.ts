// Held-out accuracy by the tokens that a node sampled itself: what `sharing.ts` and its figure compare arms by.

import { mean } from '../frame/statistics.ts'

export interface Look {
  round: number
  /** Own sampled tokens of a node so far. */
  tokens: number
  /** Held-out accuracy at temperature 1, mean over the nodes looked at. */
  sampled: number
  greedy: number
  /** Share of sampled answers with the liars' mark; absent without liars. */
  marked?: number
}

/** What is needed of a run. */
export interface ByTokens {
  arm: string
  nodes: number
  looks: readonly Look[]
}

/** Held-out accuracy by own tokens of one node, as means of three looks. The bound's tokens are shared among all. */
export function smoothed({ arm, looks, nodes }: ByTokens): { tokens: number; sampled: number }[] {
  const share = arm === 'bound' ? nodes : 1
  return looks.slice(2).map((_, i) => ({
    tokens: mean(looks.slice(i, i + 3).map(({ tokens }) => tokens)) / share,
    sampled: mean(looks.slice(i, i + 3).map(({ sampled }) => sampled)),
  }))
}

/** Own tokens at which the target is first reached, between looks by a straight line. */
export function tokensTo(target: number, run: ByTokens): number | undefined {
  const smooth = smoothed(run)
  const at = smooth.findIndex(({ sampled }) => sampled >= target)
  if (at <= 0) return at < 0 ? undefined : smooth[0]!.tokens
  const [a, b] = [smooth[at - 1]!, smooth[at]!]
  return a.tokens + ((target - a.sampled) / (b.sampled - a.sampled)) * (b.tokens - a.tokens)
}

/** The accuracy after so many own tokens, between looks by a straight line. */
export function accuracyAt(tokens: number, run: ByTokens): number {
  const smooth = smoothed(run)
  const at = smooth.findIndex((look) => look.tokens >= tokens)
  if (at <= 0) return smooth.at(at)!.sampled
  const [a, b] = [smooth[at - 1]!, smooth[at]!]
  return a.sampled + ((tokens - a.tokens) / (b.tokens - a.tokens)) * (b.sampled - a.sampled)
}
