// calendar_arithmetic: questions about weekdays, dates and leap years.
//
// One of the nine tasks of SAPO's controlled run; prompts, generator and scoring are our own. There are seven kinds of
// question; higher levels add kinds and longer spans. Questions about leap years are balanced between leap and common
// years. Weekdays may be written in full or as three letters, in any case. Numbers and yes or no must be exact.

import { defineTask } from '../../../protocol/plugin/index.ts'
import { judge } from '../answer.ts'
import { drawInstance } from '../draw.ts'
import { plainAnswer, readInteger } from '../numbers.ts'
import { stepData, workedSteps } from '../steps.ts'
import { CALENDAR_QUESTIONS, type CalendarKind } from './calendar-questions.ts'
import type { CalendarQuestion, CalendarRange } from './calendar-shared.ts'
import { WEEKDAYS } from './dates.ts'

interface Level extends CalendarRange {
  kinds: readonly CalendarKind[]
}

/** Level 3 has the kinds, the year and the span of SAPO's run; level 5 is its hard end. */
const LEVELS: readonly Level[] = [
  { kinds: ['weekday_offset'], years: [2023, 2023], span: 14 },
  { kinds: ['weekday_offset', 'weekday_of_date_from_first_date'], years: [2023, 2023], span: 60 },
  {
    kinds: ['weekday_offset', 'weekday_of_date_from_first_date', 'weekday_of_date', 'is_leap_year'],
    years: [2023, 2023],
    span: 100,
  },
  {
    kinds: ['count_days', 'weekday_of_date', 'is_leap_year', 'recurring_event_day'],
    years: [2023, 2023],
    span: 100,
  },
  { kinds: Object.keys(CALENDAR_QUESTIONS) as CalendarKind[], years: [1950, 2099], span: 250 },
  { kinds: ['count_business_days', 'weekday_of_date_from_first_date'], years: [1950, 2099], span: 365 },
]

const task = defineTask({
  name: 'calendar_arithmetic',
  kind: 'task',
  api: 1,
  summary: 'Answer questions about weekdays, dates and leap years.',
  version: 2,
  difficulty: {
    min: 0,
    max: LEVELS.length - 1,
    default: 0,
    describe(index) {
      const level = LEVELS[index]
      if (!level) return 'no such level'
      const years = level.years[0] === level.years[1] ? `${level.years[0]}` : level.years.join(' to ')
      return `${level.kinds.map((kind) => kind.replaceAll('_', ' ')).join(', ')}; ${years}, spans to ${level.span} days`
    },
  },
  generate(at) {
    return drawInstance(task, at, (dice, index) => {
      const level = LEVELS[index]!
      const drawn: CalendarQuestion = CALENDAR_QUESTIONS[dice.pick(level.kinds)](dice, level)
      const { question, key, answer, method, lines } = drawn
      return {
        subject: question,
        instance: () => ({
          question,
          key,
          steps: workedSteps(question, key, method, lines),
          data: { ...stepData(question, key), answer },
        }),
      }
    })
  },
  verify({ key, data }, completion) {
    const { answer: kind } = data as Pick<CalendarQuestion, 'answer'>
    return judge(completion, (answer) => {
      const plain = plainAnswer(answer)
      if (plain === null) return false
      if (kind === 'number') return readInteger(plain) === BigInt(key)
      const word = plain.toLowerCase()
      if (kind === 'yes-no') return word === key.toLowerCase()
      return WEEKDAYS.some(
        (day) => day === key && [day, day.slice(0, 3)].some((name) => name.toLowerCase() === word),
      )
    })
  },
})

export default task
