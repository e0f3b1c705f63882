// Questions of calendar_arithmetic whose answer is a number. Spans stay within one year.

import type { Dice } from '../random.ts'
import type { Line } from '../steps.ts'
import { type CalendarRange, type DrawQuestion, drawDay, weeks } from './calendar-shared.ts'
import {
  dateOfDay,
  dateText,
  dayOfYear,
  isLeapYear,
  MONTHS,
  monthLengths,
  WEEKDAYS,
  weekdayOf,
  yearLength,
} from './dates.ts'

const ORDINALS = ['first', 'second', 'third', 'fourth', 'last'] as const

export const recurringDay: DrawQuestion = (dice, { years }) => {
  const [year, month, wanted] = [dice.between(...years), dice.between(1, 12), dice.below(7)]
  const which = dice.below(ORDINALS.length)
  const leap = isLeapYear(year)
  const length = monthLengths(leap)[month - 1]!
  const start = weekdayOf(year, dayOfYear(leap, month, 1))
  const first = 1 + ((wanted - start + 7) % 7)
  const later = ORDINALS[which] === 'last' ? Math.floor((length - first) / 7) : which
  const key = String(first + 7 * later)
  return {
    question: `On which day of ${MONTHS[month - 1]} ${year} is the ${ORDINALS[which]} ${WEEKDAYS[wanted]}?`,
    key,
    answer: 'number',
    method: 'Find the first one from the weekday of the first of the month, then add weeks.',
    lines: [
      { text: `1 ${MONTHS[month - 1]} ${year}: ${WEEKDAYS[start]}` },
      { text: `1 + ${first - 1} = ${first}` },
      { text: `${first} + 7*${later} = ${key}`, value: key },
    ],
  }
}

interface Span {
  year: number
  start: number
  end: number
  text: string
  lines: Line[]
}

function drawSpan(dice: Dice, { years, span }: CalendarRange): Span {
  const year = dice.between(...years)
  const leap = isLeapYear(year)
  const start = drawDay(dice, leap)
  const end = start + dice.below(Math.min(span, yearLength(leap) - start) + 1)
  const [from, to] = [dateOfDay(leap, start), dateOfDay(leap, end)].map(dateText)
  return {
    year,
    start,
    end,
    text: `from ${from} ${year} to ${to} ${year}, both included`,
    lines: [
      { text: `${end} - ${start} + 1 = ${end - start + 1}` },
      weeks(end - start + 1),
      { text: `${from} ${year}: ${WEEKDAYS[weekdayOf(year, start)]}` },
    ],
  }
}

/** Counts the days of a span with certain weekdays, `weekly` of which occur in every week. */
function count({ year, start, end, lines }: Span, counts: (weekday: number) => boolean, weekly: number) {
  const days = end - start + 1
  const first = weekdayOf(year, start)
  const rest = Array.from({ length: days % 7 }, (_, i) => (first + i) % 7)
  const extra = rest.filter(counts).length
  const key = String(Math.floor(days / 7) * weekly + extra)
  const names =
    rest.length > 0 ? [{ text: `over: ${rest.map((day) => WEEKDAYS[day]!.slice(0, 3)).join(' ')}` }] : []
  const sum = { text: `${Math.floor(days / 7)}*${weekly} + ${extra} = ${key}`, value: key }
  return { key, lines: [...lines, ...names, sum] }
}

const BY_WEEKS = 'Count whole weeks, then look at the days left over.'

export const countDays: DrawQuestion = (dice, range) => {
  const span = drawSpan(dice, range)
  const wanted = dice.below(7)
  const question = `How many ${WEEKDAYS[wanted]}s ${span.text}?`
  return { question, answer: 'number', method: BY_WEEKS, ...count(span, (day) => day === wanted, 1) }
}

export const countBusinessDays: DrawQuestion = (dice, range) => {
  const span = drawSpan(dice, range)
  const question = `How many days from Monday to Friday ${span.text}?`
  return { question, answer: 'number', method: BY_WEEKS, ...count(span, (day) => day < 5, 5) }
}
