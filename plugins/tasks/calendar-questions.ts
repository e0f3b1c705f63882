// The seven kinds of question of calendar_arithmetic: each draws one question, its key and its working.
//
// Spans stay inside their year. Weekdays count from Monday, 0 to 6.

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
import type { Dice } from './random.ts'
import type { Line } from './steps.ts'

export interface CalendarQuestion {
  question: string
  key: string
  answer: 'weekday' | 'number' | 'yes-no'
  method: string
  lines: Line[]
}

export interface CalendarRange {
  years: [number, number]
  /** Longest span in days. */
  span: number
}

type Draw = (dice: Dice, range: CalendarRange) => CalendarQuestion

const weekdayAfter = (from: number, days: number): string => WEEKDAYS[(((from + days) % 7) + 7) % 7]!
const weeks = (days: number): Line => ({ text: `${days} = ${Math.floor(days / 7)}*7 + ${days % 7}` })

function drawDay(dice: Dice, leap: boolean): number {
  const month = dice.between(1, 12)
  return dayOfYear(leap, month, dice.between(1, monthLengths(leap)[month - 1]!))
}

const weekdayOffset: Draw = (dice, { span }) => {
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

/** From the weekday of 1 January to that of another day. */
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

const weekdayOfDate: Draw = (dice, { years }) => {
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

const weekdayFromFirst: Draw = (dice, { span }) => {
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

const ORDINALS = ['first', 'second', 'third', 'fourth', 'last'] as const

const recurringDay: Draw = (dice, { years }) => {
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

/** Counts days of a span whose weekday counts; `weekly` of them are in every week. */
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

const countDays: Draw = (dice, range) => {
  const span = drawSpan(dice, range)
  const wanted = dice.below(7)
  const question = `How many ${WEEKDAYS[wanted]}s ${span.text}?`
  return { question, answer: 'number', method: BY_WEEKS, ...count(span, (day) => day === wanted, 1) }
}

const countBusinessDays: Draw = (dice, range) => {
  const span = drawSpan(dice, range)
  const question = `How many days from Monday to Friday ${span.text}?`
  return { question, answer: 'number', method: BY_WEEKS, ...count(span, (day) => day < 5, 5) }
}

const leapYear: Draw = (dice) => {
  // Leap and common years alike, and one year in four a century, where the rule is not just a division by 4.
  const leap = dice.oneIn(2)
  const century = dice.oneIn(4)
  let year = 0
  do year = century ? 100 * dice.between(16, 25) : dice.between(1600, 2599)
  while (isLeapYear(year) !== leap)
  const key = leap ? 'Yes' : 'No'
  const tests = year % 4 !== 0 ? [4] : year % 100 !== 0 ? [4, 100] : [4, 100, 400]
  return {
    question: `Is ${year} a leap year?`,
    key,
    answer: 'yes-no',
    method: 'Divide by four; centuries must divide by four hundred.',
    lines: [
      ...tests.map((by) => ({ text: `${year} = ${Math.floor(year / by)}*${by} + ${year % by}` })),
      { text: key, value: key },
    ],
  }
}

export const CALENDAR_QUESTIONS = {
  weekday_offset: weekdayOffset,
  weekday_of_date: weekdayOfDate,
  weekday_of_date_from_first_date: weekdayFromFirst,
  recurring_event_day: recurringDay,
  count_days: countDays,
  count_business_days: countBusinessDays,
  is_leap_year: leapYear,
} as const satisfies Record<string, Draw>

export type CalendarKind = keyof typeof CALENDAR_QUESTIONS
