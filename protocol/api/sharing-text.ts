// Describes the benefit of peers: how many times fewer own rollouts this node needs thanks to them, expected and
// measured. Used by `waggle status` and the terminal UI.

import type { SharingEstimate, SharingInfo } from './snapshot.ts'

const points = (share: number): string => `${share < 0 ? '' : '+'}${(share * 100).toFixed(0)}`

/** A peer's effect and its interval, such as `+35 % (95 %: +12 to +60)`. Empty if unknown. */
export function effectText({ effect, low, high }: { effect?: number; low?: number; high?: number }): string {
  if (effect === undefined) return ''
  const bound = (value: number | undefined, none: string): string =>
    value === undefined ? none : points(value)
  const ends =
    low === undefined && high === undefined
      ? ''
      : ` (95 %: ${bound(low, 'no lower end')} to ${bound(high, 'no upper end')})`
  return `${points(effect)} %${ends}`
}

const times = (factor: number): string => `${factor.toFixed(factor < 9.95 ? 1 : 0)}x`

/** Such as `2.4x (1.9 to 3.1)`. */
export function estimateText({ value, low, high }: SharingEstimate): string {
  const digits = (end: number): string => times(end).slice(0, -1)
  if (high === undefined) return `${times(value)} (at least ${digits(low ?? 0)})`
  return `${times(value)} (${digits(low ?? 0)} to ${digits(high)})`
}

const peersText = (peers: number): string => `${peers} peer${peers === 1 ? '' : 's'}`

/** What is known about sharing: whether it saves or costs own rollouts, or that too little is known. */
export type SharingState = 'helps' | 'hurts' | 'unclear' | 'expected' | 'not yet known'

/** Decided by the measurement or, before there is one, by whether there is an expectation. */
export function sharingState({ measured, expected, verdict }: SharingInfo): SharingState {
  if (verdict === 'hurts' || (measured?.high !== undefined && measured.high < 1)) return 'hurts'
  if (measured) return (measured.low ?? 0) > 1 ? 'helps' : 'unclear'
  return expected ? 'expected' : 'not yet known'
}

/** The speed-up in one clause, such as `2.4x (1.9 to 3.1) fewer own rollouts to the same progress`. */
export function speedUpText(sharing: SharingInfo): string {
  const { measured, expected } = sharing
  const toTheSame = 'fewer own rollouts to the same progress'
  switch (sharingState(sharing)) {
    case 'helps':
      return `${estimateText(measured!)} ${toTheSame}`
    case 'unclear':
      return `${estimateText(measured!)} ${toTheSame}, still unclear`
    case 'expected':
      return `${estimateText(expected!)} ${toTheSame} expected, not yet measured`
    case 'hurts':
      return "peers' groups make less progress than own ones for the same compute"
    case 'not yet known':
      return 'not yet known what peers bring'
  }
}

/** Groups of the last update, such as `last step 2 own + 14 peers' groups`. Empty before the first. */
export function lastStepText({ last }: Pick<SharingInfo, 'last'>): string {
  return last ? `last step ${last.own} own + ${last.foreign} peers' groups` : ''
}

/** The next step to suggest to the user. */
export function sharingAction(sharing: SharingInfo): string {
  const { foreign, noise, last } = sharing
  switch (sharingState(sharing)) {
    case 'hurts':
      return foreign === 0
        ? 'nothing to do: the node trains on its own groups and only tries those of peers'
        : '`set training.foreign_groups=0` trains on own groups only'
    case 'helps':
      return noise && last && noise.value > 2 * (last.own + last.foreign)
        ? 'nothing to do; more peers would bring more'
        : 'nothing to do'
    default:
      return 'nothing to do: keep it running until there is enough to compare'
  }
}

/** The state of sharing in one line. */
export function sharingText(sharing: SharingInfo): string {
  const { last, measured, expected } = sharing
  const whose = last && last.peers > 0 ? `${peersText(last.peers)}: ` : ''
  const beside = measured && expected ? [`expected ${estimateText(expected)}`] : []
  const step = lastStepText(sharing)
  return [`${whose}${speedUpText(sharing)}`, ...beside, ...(step ? [step] : []), sharingAction(sharing)].join(
    '; ',
  )
}
