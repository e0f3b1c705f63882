// Whether sharing helps, in words: the verdict with its interval, or how many comparisons are missing. Used by
// `waggle status` and the terminal UI.

import { percent } from './format.ts'
import type { SharingInfo } from './snapshot.ts'

const points = (share: number): string => `${share < 0 ? '' : '+'}${(share * 100).toFixed(0)}`

/** Effect and interval, such as `+35 % (95 %: +12 to +60)`; without `roomy`, `95 %:` is left out. Empty if unknown. */
export function effectText(
  { effect, low, high }: Pick<SharingInfo, 'effect' | 'low' | 'high'>,
  roomy = true,
): string {
  if (effect === undefined) return ''
  const ends =
    low === undefined && high === undefined
      ? ''
      : ` (${roomy ? '95 %: ' : ''}${bound(low, 'no lower end')} to ${bound(high, 'no upper end')})`
  return `${points(effect)} %${ends}`
}

const bound = (value: number | undefined, none: string): string =>
  value === undefined ? none : points(value)

/** Progress towards a verdict, such as `compared 1 time, needs 12`. */
export function comparedText({ comparisons, needed }: Pick<SharingInfo, 'comparisons' | 'needed'>): string {
  if (comparisons === 0) return `not compared yet, needs ${needed} comparisons`
  const times = `compared ${comparisons} time${comparisons === 1 ? '' : 's'}`
  return comparisons < needed ? `${times}, needs ${needed}` : `${times}, still unclear`
}

/** One line. */
export function sharingText(sharing: SharingInfo): string {
  const { verdict, foreign, limit, weight } = sharing
  const effect = effectText(sharing)
  // Below the weight of a newcomer.
  const counted = weight < 0.5 ? `, and each counts ${percent(weight, 0)} of an own one` : ''
  const share = `a batch takes ${foreign} of at most ${limit} foreign groups${counted}`
  switch (verdict) {
    case 'not yet known':
      return `not yet known whether foreign groups help: ${comparedText(sharing)}${effect ? `, so far ${effect}` : ''}; meanwhile ${share}`
    case 'no difference':
      return `makes no difference: ${effect || 'foreign groups bring as much as own groups'}; ${share}`
    case 'helps':
      return `helps: foreign groups bring ${effect || 'more'} progress for the same compute; ${share}`
    case 'hurts':
      return `hurts: foreign groups bring ${effect || 'less'} progress for the same compute; ${share}`
  }
}
