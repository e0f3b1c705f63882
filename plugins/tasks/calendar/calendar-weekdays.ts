// Questions of calendar_arithmetic whose answer is a weekday.

import type { Line } from '../steps.ts'
import { type DrawQuestion, drawDay, weekdayAfter, weeks } from './calendar-shared.ts'
import { dateOfDay, dateText, isLeapYear, monthLengths, WEEKDAYS, weekdayOf, yearLength } from './dates.ts'

export const weekdayOffset: DrawQuestion = (dice, { span }) => {
  const [from, days, later] = [dice.below(7), dice.between(1, span), dice.oneIn(2)]
  const key = weekdayAfter(from, later ? days : -days)
  return {
    question: `Today is ${WEEKDAYS[from]}. Which weekday is it ${days} days ${later ? 'later' : 'earlier'}?`,
    key,
    answer: 'weekday',
    method: 'Take whole weeks off, then step the rest.',
    lines: [weeks(days), { text: `${WEEKDAYS[from]} ${later ? '+' : '-'} ${days % 7}: ${key}`, value: key }],
  }
}

/** The working that leads from the weekday of 1 January to that of another day. */
function fromFirst(first: number, leap: boolean, ordinal: number): Line[] {
  const { month, day } = dateOfDay(leap, ordinal)
  const before = monthLengths(leap).slice(0, month - 1)
  const key = weekdayAfter(first, ordinal - 1)
  const counted = before.length > 0 ? [{ text: `${[...before, day].join(' + ')} = ${ordinal}` }] : []
  return [
    ...counted,
    { text: `${ordinal} - 1 = ${ordinal - 1}` },
    weeks(ordinal - 1),
    { text: `${WEEKDAYS[first]} + ${(ordinal - 1) % 7}: ${key}`, value: key },
  ]
}

const FROM_FIRST = 'Count the days since the first of January, take whole weeks off, then step the rest.'

export const weekdayOfDate: DrawQuestion = (dice, { years }) => {
  const year = dice.between(...years)
  const leap = isLeapYear(year)
  const ordinal = drawDay(dice, leap)
  const first = weekdayOf(year, 1)
  return {
    question: `Which weekday is ${dateText(dateOfDay(leap, ordinal))} ${year}?`,
    key: weekdayAfter(first, ordinal - 1),
    answer: 'weekday',
    method: FROM_FIRST,
    lines: [{ text: `1 January ${year}: ${WEEKDAYS[first]}` }, ...fromFirst(first, leap, ordinal)],
  }
}

export const weekdayFromFirst: DrawQuestion = (dice, { span }) => {
  const [first, leap] = [dice.below(7), dice.oneIn(2)]
  const ordinal = 1 + dice.between(1, Math.min(span, yearLength(leap) - 1))
  const kind = leap ? 'leap' : 'common'
  return {
    question: `If 1 January of a ${kind} year is a ${WEEKDAYS[first]}, which weekday is ${dateText(dateOfDay(leap, ordinal))}?`,
    key: weekdayAfter(first, ordinal - 1),
    answer: 'weekday',
    method: FROM_FIRST,
    lines: fromFirst(first, leap, ordinal),
  }
}
