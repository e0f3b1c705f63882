// "Is sharing helping me?" in words: the verdict with its interval, or how far from one it is. Shared by `waggle status`
// and the terminal UI.

import type { SharingInfo } from './snapshot.ts'

const points = (share: number): string => `${share < 0 ? '' : '+'}${(share * 100).toFixed(0)}`

/** Effect and 95 % interval, such as `+35 % (95 %: +12 to +60)`; `roomy` says which interval it is. Nothing while there is none. */
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

/** One line. */
export function sharingText(sharing: SharingInfo): string {
  const { verdict, comparisons, needed, foreign, limit, weight } = sharing
  const effect = effectText(sharing)
  // A weight below a stranger's is why they are fewer.
  const share = `${foreign} of up to ${limit} foreign groups a batch${weight < 0.5 ? `, at weight ${weight.toFixed(2)}` : ''}`
  switch (verdict) {
    case 'not yet known':
      return `not yet known: ${comparisons < needed ? `${comparisons} of ${needed}` : comparisons} comparisons${effect ? `, so far ${effect}` : ''}; ${share}`
    case 'no difference':
      return `makes no difference: ${effect || 'foreign groups bring what own ones do'}; ${share}`
    case 'helps':
      return `helps: foreign groups bring ${effect || 'more'} per compute; ${share}`
    case 'hurts':
      return `hurts: foreign groups bring ${effect || 'less'} per compute; ${share}`
  }
}
