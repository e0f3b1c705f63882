// Decides when a batch is due and chooses it from the pool: a random draw of foreign groups and the newest own groups.
//
// A batch is due when enough groups with a signal wait, own or foreign. An own group counts 1, a foreign group counts
// its author's standing. Up to J foreign groups are drawn first and own groups fill the rest, so that a node need not
// generate what its peers already have. The chosen groups must count for at least half of what makes a batch due.
//
// SAPO samples J foreign groups uniformly from those with a signal. Here the draw picks an author first, so that
// publishing more does not get an author drawn more often. Identities are free, so all newcomers together count as one
// author; among newcomers, the draw first picks the peer that delivered the group. The drawn groups keep to this node's
// own mix of tasks and levels. A peer may send many long rollouts for one prompt, so the drawn tokens are also bounded,
// in total and per author, relative to this node's own groups. If a bound is exceeded, the longest groups are dropped
// and others drawn.

import type { Random } from '../../../protocol/plugin/index.ts'
import type { Group } from '../../../protocol/train/index.ts'
import { type PromptMix, tokensIn } from './prompt-mix.ts'

export interface BatchSizes {
  /** I and J in SAPO's notation: maximum number of own and of foreign groups in a batch. */
  own: number
  foreign: number
  /**
   * Number of own groups that foreign groups do not displace. If own groups are rare, a due batch has fewer of them,
   * and fewer groups in all. Default: I, and then foreign groups count for at most J towards a due batch.
   */
  leastOwn?: number
  /** Number of groups that makes a batch due. */
  due: number
  /** Whether the batch may consist of foreign groups only. */
  mayLackOwn: boolean
}

export interface BatchParts {
  random: Random
  mix: Pick<PromptMix, 'stratum' | 'most' | 'tokens'>
  /** False for newcomers, who share one author's chance in the draw. Default: nobody is known. */
  isKnown?(author: string): boolean
  /** How much an author's group counts towards a due batch, 0 to 1. Default: 0. */
  weightOf?(author: string): number
}

/** Maximum tokens of the foreign groups, relative to J own groups; the margin allows for groups of unequal size. */
const MAX_TOKENS = 1.5
/** Minimum share of `due` in the chosen batch. Newcomers' groups may be drawn, and they count nothing. */
const MIN_DRAWN = 1 / 2
/** Every author may have as many tokens as this many own groups, because peers may use other length limits. */
const MIN_SHARE = 3

/** The chosen groups, own groups first; undefined while no batch is due. */
export function chooseBatch(
  waiting: { own: readonly Group[]; foreign: readonly Group[] },
  sizes: BatchSizes,
  parts: BatchParts,
): Group[] | undefined {
  const { weightOf = () => 0 } = parts
  const newest = [...waiting.own].sort((a, b) => b.bornVersion - a.bornVersion || b.bornAt - a.bornAt)
  if (newest.length === 0 && !sizes.mayLackOwn) return undefined
  const totalWeight = (foreign: readonly Group[]): number =>
    foreign.reduce((sum, { author }) => sum + weightOf(author), 0)
  const { leastOwn } = sizes
  const most = leastOwn === undefined ? sizes.foreign : Number.POSITIVE_INFINITY
  if (Math.min(newest.length, sizes.own) + Math.min(most, totalWeight(waiting.foreign)) < sizes.due)
    return undefined
  const foreign = drawForeign(waiting.foreign, sizes.foreign, parts)
  const own = newest.slice(0, Math.max(leastOwn ?? sizes.own, sizes.own - Math.floor(totalWeight(foreign))))
  const isEnough =
    own.length + totalWeight(foreign) >= MIN_DRAWN * sizes.due && own.length + foreign.length > 0
  return isEnough ? [...own, ...foreign] : undefined
}

function tokensOf(groups: readonly Group[]): number {
  return groups.reduce((sum, group) => sum + tokensIn(group), 0)
}

function drawForeign(groups: readonly Group[], count: number, { random, mix, isKnown }: BatchParts): Group[] {
  const mean = mix.tokens ?? 0
  const most = MAX_TOKENS * count * mean
  const shareAmong = (those: readonly Group[]): number => {
    const authors = new Set(those.map(({ author }) => author)).size
    return Math.max(most / Math.max(1, Math.min(authors, count)), MIN_SHARE * mean)
  }
  const mostOfAny = shareAmong(groups)
  const left = new Set(groups.filter((group) => tokensIn(group) <= mostOfAny))
  // Authors whose groups are all too long must not reduce the share of the others.
  const mostOfOne = shareAmong([...left])
  const strata = new Map([...left].map((group) => [group, mix.stratum(group)]))
  const filling = Math.min(count, groups.length)
  const withRoom = (drawn: readonly Group[]): Group[] => {
    const counts = new Map<string, number>()
    for (const group of drawn) counts.set(strata.get(group)!, (counts.get(strata.get(group)!) ?? 0) + 1)
    const full = new Map(
      [...new Set(strata.values())].map((one) => [one, (counts.get(one) ?? 0) >= mix.most(one, filling)]),
    )
    return [...left].filter((group) => !full.get(strata.get(group)!))
  }
  let drawn: Group[] = []
  for (;;) {
    while (drawn.length < count) {
      const open = withRoom(drawn)
      if (open.length === 0) break
      const one = drawOne(open, random, isKnown ?? (() => false))
      left.delete(one)
      drawn.push(one)
    }
    const tooLong = longestAbove(most, drawn) ?? longestOfAnAuthorAbove(mostOfOne, drawn)
    if (!tooLong) return drawn
    drawn = drawn.filter((group) => group !== tooLong)
  }
}

function drawOne(groups: Group[], random: Random, isKnown: (author: string) => boolean): Group {
  const among = (some: Group[], keyOf: (group: Group) => string): Group[] => {
    const parts = [...Map.groupBy(some, keyOf).values()]
    return parts[Math.floor(random() * parts.length)]!
  }
  let some = among(groups, ({ author }) => (isKnown(author) ? author : ''))
  if (!isKnown(some[0]!.author)) {
    some = among(some, ({ author, source }) => source ?? author)
    some = among(some, ({ author }) => author)
  }
  return some[Math.floor(random() * some.length)]!
}

/** The longest group, if all groups together exceed `most` tokens. */
function longestAbove(most: number, drawn: readonly Group[]): Group | undefined {
  if (tokensOf(drawn) <= most) return undefined
  return drawn.reduce((longest, group) => (tokensIn(group) > tokensIn(longest) ? group : longest))
}

function longestOfAnAuthorAbove(most: number, drawn: readonly Group[]): Group | undefined {
  for (const theirs of Map.groupBy(drawn, ({ author }) => author).values()) {
    const longest = longestAbove(most, theirs)
    if (longest) return longest
  }
  return undefined
}
