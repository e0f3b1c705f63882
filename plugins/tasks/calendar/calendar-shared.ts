// Shared by the questions of calendar_arithmetic. Weekdays count from Monday, 0 to 6.

import type { Dice } from '../random.ts'
import type { Line } from '../steps.ts'
import { dayOfYear, monthLengths, WEEKDAYS } from './dates.ts'

export interface CalendarQuestion {
  question: string
  key: string
  answer: 'weekday' | 'number' | 'yes-no'
  method: string
  lines: Line[]
}

export interface CalendarRange {
  years: [number, number]
  /** Maximum span, in days. */
  span: number
}

export type DrawQuestion = (dice: Dice, range: CalendarRange) => CalendarQuestion

export const weekdayAfter = (from: number, days: number): string => WEEKDAYS[(((from + days) % 7) + 7) % 7]!
export const weeks = (days: number): Line => ({ text: `${days} = ${Math.floor(days / 7)}*7 + ${days % 7}` })

/** Draws a day of the year: first the month, then the day. */
export function drawDay(dice: Dice, leap: boolean): number {
  const month = dice.between(1, 12)
  return dayOfYear(leap, month, dice.between(1, monthLengths(leap)[month - 1]!))
}
