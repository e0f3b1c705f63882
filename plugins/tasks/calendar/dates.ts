// Dates of the proleptic Gregorian calendar in integers, without clock or time zone.

export const WEEKDAYS = [
  'Monday',
  'Tuesday',
  'Wednesday',
  'Thursday',
  'Friday',
  'Saturday',
  'Sunday',
] as const

export const MONTHS = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
] as const

export const isLeapYear = (year: number): boolean => year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)

export function monthLengths(leap: boolean): number[] {
  return [31, leap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
}

export const yearLength = (leap: boolean): number => (leap ? 366 : 365)

/** 1 for 1 January. `month` counts from 1. */
export function dayOfYear(leap: boolean, month: number, day: number): number {
  return monthLengths(leap)
    .slice(0, month - 1)
    .reduce((sum, length) => sum + length, day)
}

export function dateOfDay(leap: boolean, ordinal: number): { month: number; day: number } {
  let left = ordinal
  let month = 1
  for (const length of monthLengths(leap)) {
    if (left <= length) break
    left -= length
    month++
  }
  return { month, day: left }
}

/**
 * Index into WEEKDAYS of 1 January: 1 January of the year 1 is a Monday, and every year moves on by 1 or 2
 * days.
 */
function firstWeekday(year: number): number {
  const past = year - 1
  return (past + Math.floor(past / 4) - Math.floor(past / 100) + Math.floor(past / 400)) % 7
}

export const weekdayOf = (year: number, ordinal: number): number => (firstWeekday(year) + ordinal - 1) % 7

export const dateText = ({ month, day }: { month: number; day: number }): string =>
  `${day} ${MONTHS[month - 1]}`
