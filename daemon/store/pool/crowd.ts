// Picks the foreign group to evict from a full pool: the oldest one of the author with the most groups. Identities are
// free, so all newcomers together count as one author. Among newcomers, it is the oldest group from the source with the
// most groups.

import type { Group } from '../../../protocol/train/index.ts'

/** `entries`: oldest first, at least one. */
export function crowdedOut<Entry extends { readonly group: Group }>(
  entries: Iterable<Entry>,
  { isKnown }: { isKnown(author: string): boolean },
): Entry {
  const most = (some: Entry[], keyOf: (group: Group) => string): Entry[] =>
    [...Map.groupBy(some, ({ group }) => keyOf(group)).values()].reduce((a, b) =>
      b.length > a.length ? b : a,
    )
  const some = most([...entries], ({ author }) => (isKnown(author) ? author : ''))
  if (isKnown(some[0]!.group.author)) return some[0]!
  return most(some, ({ source, author }) => source ?? author)[0]!
}
