// Chooses a batch from the pool: the newest own groups, and foreign groups drawn at random.
//
// SAPO samples J foreign groups uniformly from those with a signal. Here the draw picks an author first, so
// that an author who publishes more is not drawn more often. Identities are free, so all newcomers together
// count as one author; among newcomers, the draw first picks the peer that delivered the group. A peer may
// send many long rollouts for one prompt, so the drawn tokens are also bounded, in total and per author,
// relative to this batch's own groups. Over a bound, the longest groups are dropped and others drawn.

import type { Random } from '../../protocol/plugin/index.ts'
import type { Group } from '../../protocol/train/index.ts'

export interface BatchSizes {
  /** I and J in SAPO's notation. */
  own: number
  foreign: number
}

/**
 * Foreign groups may have this many times the tokens of J own groups; the margin is for groups of unequal
 * size.
 */
const MOST_TOKENS = 1.5
/** Every author may have the tokens of this many own groups: peers may use other length limits. */
const LEAST_SHARE = 3

/** Undefined while there are fewer than I own groups. It does not wait for foreign ones. */
export function chooseBatch(
  waiting: { own: readonly Group[]; foreign: readonly Group[] },
  sizes: BatchSizes,
  random: Random,
  isKnown: (author: string) => boolean = () => false,
): Group[] | undefined {
  if (waiting.own.length < sizes.own) return undefined
  const newest = [...waiting.own].sort((a, b) => b.bornVersion - a.bornVersion || b.bornAt - a.bornAt)
  const own = newest.slice(0, sizes.own)
  const mean = tokensOf(own) / Math.max(1, own.length)
  return [...own, ...drawForeign(waiting.foreign, { count: sizes.foreign, mean }, random, isKnown)]
}

/** Tokens that the model processes to train on a group. */
export function tokensIn({ conditioning, rollouts }: Group): number {
  return rollouts.reduce((sum, one) => sum + (one.conditioning ?? conditioning).length + one.tokens.length, 0)
}

function tokensOf(groups: readonly Group[]): number {
  return groups.reduce((sum, group) => sum + tokensIn(group), 0)
}

/** `mean`: tokens per own group. */
function drawForeign(
  groups: readonly Group[],
  { count, mean }: { count: number; mean: number },
  random: Random,
  isKnown: (author: string) => boolean,
): Group[] {
  const most = MOST_TOKENS * count * mean
  const shareAmong = (those: readonly Group[]): number => {
    const authors = new Set(those.map(({ author }) => author)).size
    return Math.max(most / Math.max(1, Math.min(authors, count)), LEAST_SHARE * mean)
  }
  const mostOfAny = shareAmong(groups)
  const left = new Set(groups.filter((group) => tokensIn(group) <= mostOfAny))
  // Authors whose groups are all too long do not reduce the others' share.
  const mostOfOne = shareAmong([...left])
  let drawn: Group[] = []
  for (;;) {
    while (drawn.length < count && left.size > 0) drawn.push(drawOne(left, random, isKnown))
    const tooLong = longestAbove(most, drawn) ?? longestOfAnAuthorAbove(mostOfOne, drawn)
    if (!tooLong) return drawn
    drawn = drawn.filter((group) => group !== tooLong)
  }
}

/** Removes the drawn group from `left`. */
function drawOne(left: Set<Group>, random: Random, isKnown: (author: string) => boolean): Group {
  const among = (some: Group[], keyOf: (group: Group) => string): Group[] => {
    const parts = [...Map.groupBy(some, keyOf).values()]
    return parts[Math.floor(random() * parts.length)]!
  }
  let some = among([...left], ({ author }) => (isKnown(author) ? author : ''))
  if (!isKnown(some[0]!.author)) {
    some = among(some, ({ source, author }) => source ?? author)
    some = among(some, ({ author }) => author)
  }
  const group = some[Math.floor(random() * some.length)]!
  left.delete(group)
  return group
}

/** The longest group if all together exceed `most` tokens. */
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
