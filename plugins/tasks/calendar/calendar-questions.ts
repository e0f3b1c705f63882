// The seven kinds of question of calendar_arithmetic, by name; the one about leap years is here.

import { countBusinessDays, countDays, recurringDay } from './calendar-counts.ts'
import type { DrawQuestion } from './calendar-shared.ts'
import { weekdayFromFirst, weekdayOfDate, weekdayOffset } from './calendar-weekdays.ts'
import { isLeapYear } from './dates.ts'

const leapYear: DrawQuestion = (dice) => {
  // Half leap and half common years; one year in four is a century, where divisibility by 4 is not enough.
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
} as const satisfies Record<string, DrawQuestion>

export type CalendarKind = keyof typeof CALENDAR_QUESTIONS
