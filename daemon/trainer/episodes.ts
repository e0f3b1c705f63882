// Episodes that consist of several rows: an agent's rollout whose turns do not form one token sequence. Estimators see
// each episode as one rollout, its rows concatenated, so that it counts once and its turns stay in order. Each row then
// gets its part of the advantages.

import type { Advantages } from '../../protocol/plugin/index.ts'
import type { Group, Rollout } from '../../protocol/train/index.ts'

/** Groups as estimators see them. A group without such episodes is returned as the same object. */
export function joinEpisodes(groups: readonly Group[]): Group[] {
  return groups.map((group) => {
    const episodes = episodesOf(group)
    if (episodes.length === group.rollouts.length) return group
    return {
      ...group,
      rollouts: episodes.map((rows) => rows.map((row) => group.rollouts[row]!).reduce(joined)),
    }
  })
}

/** Splits the advantages of the joined groups into those of the rows. */
export function splitEpisodes(advantages: Advantages, groups: readonly Group[]): Advantages {
  return groups.map((group, g) => {
    const split: Advantages[number] = new Array(group.rollouts.length)
    episodesOf(group).forEach((rows, e) => {
      const whole = advantages[g]![e]!
      let start = 0
      for (const row of rows) {
        const { length } = group.rollouts[row]!.tokens
        split[row] = typeof whole === 'number' ? whole : whole.slice(start, start + length)
        start += length
      }
    })
    return split
  })
}

/** Indices of the rows of each episode, in the order of their first rows. */
function episodesOf({ rollouts }: Group): number[][] {
  const rows = rollouts.map((_, row) => row)
  return [...Map.groupBy(rows, (row) => rollouts[row]!.episode ?? `row ${row}`).values()]
}

function joined(a: Rollout, b: Rollout): Rollout {
  const from = a.tokens.length
  const { behaviourLogprobs: before, entropies: wide } = a
  const { behaviourLogprobs: after, entropies: narrow } = b
  return {
    ...a,
    text: `${a.text}\n${b.text}`,
    tokens: concat(Int32Array, a.tokens, b.tokens),
    ...(before && after ? { behaviourLogprobs: concat(Float32Array, before, after) } : {}),
    ...(wide && narrow ? { entropies: concat(Float32Array, wide, narrow) } : {}),
    segments: [...a.segments, ...b.segments.map((one) => ({ ...one, start: one.start + from }))],
    lossMask: concat(Uint8Array, maskOf(a), maskOf(b)),
    turns: [...(a.turns ?? []), ...(b.turns ?? []).map((turn) => ({ ...turn, start: turn.start + from }))],
    finish: b.finish,
  }
}

function maskOf({ tokens, lossMask }: Rollout): Uint8Array {
  return lossMask ?? new Uint8Array(tokens.length).fill(1)
}

function concat<Values extends Int32Array | Float32Array | Uint8Array>(
  make: new (length: number) => Values,
  a: Values,
  b: Values,
): Values {
  const both = new make(a.length + b.length)
  both.set(a)
  both.set(b, a.length)
  return both
}
