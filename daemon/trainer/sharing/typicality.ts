// Tests whether an author's tokens were drawn from a policy like this node's, and whether the log-probs it reports can
// be true. Nothing else that the author says about itself is needed.
//
// The place of a token is u = P(likelier tokens) + U P(equally likely tokens), with U uniform. If the token was drawn
// from this node's policy, u is uniform on (0, 1) and independent of all earlier places (the randomised probability
// integral transform). Text that no model wrote has places near 1. Text sampled at a lower temperature, or selected for
// its likelihood, has places near 0; text that does both to hide has too many in both tails. Places are counted in
// bins, separately for unsure tokens (where the policy's entropy is not small): most tokens leave a sampler no choice,
// and would hide how it chooses. Each of ALTERNATIVES is one such deviation, and bets on the counts at odds that favour
// it.
//
// An honest peer's policy is some versions away, so the null hypothesis is a set: every distribution of places that
// puts no more into any bin than a policy TOLERANCE nats per token away can. For an expected share p, that is at most
// q, where kl(q‖p) = TOLERANCE: half as much again for a share of 4 %, and four times as much for one of 0.1 %, because
// policies that drift apart differ most about the rarest tokens. The expected share is the larger of the uniform one
// and that of this node's own rollouts when they are trained on, which are stale and selected for a signal, like a
// peer's. Against the alternative q, the best bet that no member of the set can win is q divided by the set's member
// nearest to q (the reverse information projection; Grünwald, de Heide and Koolen 2024); see `payoffs`.
//
// A bet gains at most MAX_AT_ONCE per update. An honest peer differs in single bursts: a rollout that has left the
// usual path goes where neither policy was trained. Planted text comes again and again.
//
// A bet's wealth has a lower bound below 1, so that an author cannot save up good behaviour. That makes it at most an
// e-detector (Shin, Ramdas and Rinaldo 2023): an author within the set raises an alarm at most once in 1 / ALPHA
// updates on average. An alternative whose bet has lost nearly all its wealth is refuted. So the same numbers show
// which authors are unlike this node and which are alike:
//
//   mismatched  after an alarm, until no bet is ahead any more
//   matched     after all alternatives were refuted, until a bet is ahead again
//   unknown     neither
//
// Reported log-probs: for tokens from any sampler b, the mean importance weight p / b under any policy p is at most 1.
// An author that understates its probabilities, to make its tokens weigh more, has a mean above 1. One more bet tests
// that.

export interface Typicality {
  /** Log wealth of each bet. */
  bets: number[]
  /** Log wealth of the bet that reported log-probs are too low. */
  claims: number
  likeness: Likeness
}

/** Counts of this node's own tokens when they were trained on, in the bins of `Evidence`. */
export type Calibration = readonly number[]

type Likeness = 'matched' | 'mismatched' | 'unknown'

/** Evidence from an author's tokens in one update. */
export interface Evidence {
  /** Number of tokens in each bin of PIT values: first unsure tokens, then the others. */
  counts: readonly number[]
  /** Mean importance weight over tokens with reported log-probs; undefined if there are none. */
  weight?: number | undefined
}

/** Upper ends of the bins. Planted tokens are rare and very unlikely, hence the small bins near 1. */
export const EDGES = [0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999, 1] as const

/** An honest author raises at most one false alarm in 1 / ALPHA updates with its groups, on average. */
export const ALPHA = 1e-4
/** Maximum distance of an honest peer's policy from this node's, in nats per token. */
const TOLERANCE = 0.003
/**
 * An alternative is refuted at minus this log wealth: it would lose that much by chance with probability e^-4.6 = 1 %.
 */
const CREDIT = 4.6
/** Lower bound on log wealth, so that an author cannot save up good behaviour. */
const MIN_WEALTH = -6.9
/** Maximum log wealth that one update may add, so that no single group turns a matched author into a mismatched one. */
const MAX_AT_ONCE = CREDIT
/** Upper bound on log wealth, so that an author who turns honest is recognised in time. */
const MAX = 2 * Math.log(1 / ALPHA)

type Distribution = (u: number) => number

const uniform: Distribution = (u) => u
/** Places of text sampled at a lower temperature for powers above 1, at a higher one for powers below 1. */
const tilted =
  (power: number): Distribution =>
  (u) =>
    1 - (1 - u) ** power
/** Log-uniform in 1 - u: tokens that the policy finds anything from likely to almost impossible. */
const MIN = 1e-4
const foreign: Distribution = (u) => Math.min(1, Math.log(1 / Math.max(1 - u, MIN)) / Math.log(1 / MIN))
const mixed =
  (share: number, a: Distribution, b: Distribution = uniform): Distribution =>
  (u) =>
    share * a(u) + (1 - share) * b(u)
const tails: Distribution = (u) => (2 / Math.PI) * Math.asin(Math.sqrt(u))

/** Distributions of the places of unsure tokens and of the others. */
interface Alternative {
  unsure: Distribution
  sure: Distribution
}
const everywhere = (distribution: Distribution): Alternative => ({ unsure: distribution, sure: distribution })
/** A sampler's settings show only where the policy leaves a choice. */
const inDoubt = (distribution: Distribution): Alternative => ({ unsure: distribution, sure: uniform })

export const ALTERNATIVES: Readonly<Record<string, Alternative>> = {
  'a little planted text': everywhere(mixed(0.06, foreign)),
  'planted text': everywhere(mixed(0.2, foreign)),
  'mostly planted text': everywhere(mixed(0.7, foreign)),
  'planted text among likely text': {
    unsure: mixed(0.1, foreign, tilted(1.4)),
    sure: mixed(0.03, foreign),
  },
  'sampled colder': inDoubt(tilted(1.6)),
  'picked for likelihood': inDoubt(tilted(2.2)),
  'sampled hotter': inDoubt(tilted(0.6)),
  'sampled much hotter': inDoubt(tilted(0.45)),
  'too many in both tails': inDoubt(mixed(0.5, tails)),
}

const sharesOf = (distribution: Distribution): number[] =>
  EDGES.map((edge, i) => distribution(edge) - distribution(EDGES[i - 1] ?? 0))
const UNIFORM = sharesOf(uniform)
const SHARES = Object.values(ALTERNATIVES).map(({ unsure, sure }) => [sharesOf(unsure), sharesOf(sure)])

/** Indices of the two kinds of tokens in the counts: unsure, sure. */
const KINDS = [0, 1]
const ofKind = (bins: readonly number[], kind: number): readonly number[] =>
  bins.slice(kind * EDGES.length, (kind + 1) * EDGES.length)

/** Weight of the uniform distribution in the calibration, in own tokens. */
const PRIOR = 1000
/** Number of own tokens that are remembered. */
const REMEMBERED = 50_000

export const uncalibrated = (): number[] => [...UNIFORM, ...UNIFORM].map(() => 0)

/** Adds own tokens' counts, and scales the sum down to REMEMBERED tokens. */
export function calibrated(before: Calibration, counts: readonly number[]): number[] {
  const added = before.map((count, k) => count + (counts[k] ?? 0))
  const total = sum(added)
  return total > REMEMBERED ? added.map((count) => (count * REMEMBERED) / total) : added
}

/** The maximum share of an honest author's tokens in each bin, from own tokens of one kind. */
export function limitsOf(own: readonly number[]): number[] {
  const total = sum(own) + PRIOR
  return UNIFORM.map((share, k) => mostWithin(Math.max(share, ((own[k] ?? 0) + PRIOR * share) / total)))
}

/** The maximum probability, under any distribution within TOLERANCE nats, of an event with probability p. */
function mostWithin(p: number): number {
  let [low, high] = [p, 1]
  for (let i = 0; i < 40; i++) {
    const q = (low + high) / 2
    const rest = q < 1 ? (1 - q) * Math.log((1 - q) / (1 - p)) : 0
    if (q * Math.log(q / p) + rest < TOLERANCE) low = q
    else high = q
  }
  return high
}

/**
 * What a bet on shares q pays for a token in each bin, if honest shares are those p with p <= limits. The nearest
 * member of that set to q is p* = min(limits, a q), with `a` such that it sums to 1; q / p* pays at most 1 on average
 * under every member. All ones if q itself is in the set.
 */
export function payoffs(q: readonly number[], limits: readonly number[]): number[] {
  let [low, high] = [1, 1e6]
  for (let i = 0; i < 60; i++) {
    const a = Math.sqrt(low * high)
    if (sum(q.map((share, k) => Math.min(limits[k]!, a * share))) < 1) low = a
    else high = a
  }
  // Uses the larger end, so that rounding never makes the bet pay more.
  return q.map((share, k) => Math.max(share / limits[k]!, 1 / high))
}

/** Log of what each bet pays for a token in each bin. */
export type Odds = readonly (readonly number[])[]

export function oddsOf(own: Calibration): Odds {
  const limits = KINDS.map((kind) => limitsOf(ofKind(own, kind)))
  return SHARES.map((shares) => KINDS.flatMap((kind) => payoffs(shares[kind]!, limits[kind]!).map(Math.log)))
}

export const untested = (): Typicality => ({ bets: SHARES.map(() => 0), claims: 0, likeness: 'unknown' })

const BET = 0.5
/** Tolerance for rounding and quantization: log-probs that are off by s raise the mean weight by s² / 2. */
const WEIGHT_TOLERANCE = 0.1

export function reviewed(before: Typicality, { counts, weight }: Evidence, odds: Odds): Typicality {
  const bets = gainsOf(counts, odds).map((gain, j) =>
    bounded((before.bets[j] ?? 0) + Math.min(MAX_AT_ONCE, gain)),
  )
  const claims =
    weight === undefined
      ? before.claims
      : bounded(before.claims + Math.log(Math.max(1e-6, 1 + BET * (weight / (1 + WEIGHT_TOLERANCE) - 1))))
  return { bets, claims, likeness: likenessAfter(before.likeness, { bets, claims }) }
}

/** Whether these tokens alone show, whoever wrote them, that they were not drawn from a policy like this node's. */
export function isUnlike({ counts }: Evidence, odds: Odds): boolean {
  return wealthOf({ bets: gainsOf(counts, odds).map(bounded), claims: 0 }) >= 1 / ALPHA
}

/** Gain of each bet in log wealth. */
function gainsOf(counts: readonly number[], odds: Odds): number[] {
  return odds.map((pays) => sum(pays.map((pay, k) => (counts[k] ?? 0) * pay)))
}

function likenessAfter(before: Likeness, wealth: Pick<Typicality, 'bets' | 'claims'>): Likeness {
  const { bets, claims } = wealth
  if (before !== 'mismatched' && wealthOf(wealth) >= 1 / ALPHA) return 'mismatched'
  if (Math.max(claims, ...bets) > 0) return before === 'mismatched' ? 'mismatched' : 'unknown'
  if (Math.max(...bets) <= -CREDIT) return 'matched'
  return before === 'mismatched' ? 'unknown' : before
}

/** Mean wealth of all bets. */
function wealthOf({ bets, claims }: Pick<Typicality, 'bets' | 'claims'>): number {
  const all = [...bets, claims].map(Math.exp)
  return sum(all) / all.length
}

/** Describes the bet that is furthest ahead, for users. */
export function reasonOf({ bets, claims }: Typicality): string {
  const most = Math.max(...bets)
  return claims > most
    ? 'its tokens are likelier under this node’s policy than it reports'
    : `its tokens look like ${Object.keys(ALTERNATIVES)[bets.indexOf(most)]}`
}

/** Bounds and rounds the log wealth, so that a checkpoint has room for many authors. */
function bounded(wealth: number): number {
  return Number.isNaN(wealth) ? MAX : Math.round(1e3 * Math.max(MIN_WEALTH, Math.min(MAX, wealth))) / 1e3
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
