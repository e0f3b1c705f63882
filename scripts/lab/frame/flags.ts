// The flags that every experiment takes: which arms, at which rates, with which seeds, where the records are.

import { type ParseArgsOptionsConfig, parseArgs } from 'node:util'

interface FrameFlags {
  /** In the order given. Names with commas are separated by semicolons. */
  arms: readonly string[]
  /** Learning rates of an arm. */
  ratesOf(arm: string): readonly number[]
  seeds: readonly number[]
  out: string
  /** Print the table of what is recorded and play nothing. */
  show: boolean
}

export interface Defaults {
  arms: string
  rates: string
  seeds: string
  out: string
}

export type Values = Readonly<Record<string, string | boolean | undefined>>

/** `own`: further flags of this experiment. */
export function readFlags(
  args: readonly string[],
  defaults: Defaults,
  own: ParseArgsOptionsConfig = {},
): { frame: FrameFlags; values: Values } {
  const { values } = parseArgs({
    args: [...args],
    options: {
      arms: { type: 'string', default: defaults.arms },
      rates: { type: 'string', default: defaults.rates },
      seeds: { type: 'string', default: defaults.seeds },
      out: { type: 'string', default: defaults.out },
      show: { type: 'boolean', default: false },
      ...own,
    },
  })
  const given = values as Record<string, string | boolean | undefined>
  const rates = String(given.rates).split(',')
  return {
    frame: {
      arms: String(given.arms).split(String(given.arms).includes(';') ? ';' : ','),
      ratesOf: (arm) => rates.flatMap((rate) => rateFor(arm, rate)),
      seeds: String(given.seeds).split(',').map(numberOf),
      out: String(given.out),
      show: given.show === true,
    },
    values: given as Values,
  }
}

/** `1e-4` is for every arm, `alone=1e-4` for that one. */
function rateFor(arm: string, rate: string): number[] {
  const at = rate.lastIndexOf('=')
  if (at < 0) return [numberOf(rate)]
  return rate.slice(0, at) === arm ? [numberOf(rate.slice(at + 1))] : []
}

function numberOf(text: string): number {
  const value = Number(text)
  if (text.trim() === '' || !Number.isFinite(value)) throw new Error(`"${text}" is not a number`)
  return value
}
