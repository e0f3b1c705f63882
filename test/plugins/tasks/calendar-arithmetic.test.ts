import { describe, expect, it } from 'vitest'
import task from '../../../plugins/tasks/calendar/calendar-arithmetic.ts'
import type { Instance } from '../../../protocol/train/index.ts'
import { inTags, items, taskConformance } from './conformance.ts'

const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday']
const utc = (text: string): number => Date.parse(`${text} UTC`)
const DAY_MS = 86_400_000
const weekday = (time: number): string => DAYS[new Date(time).getUTCDay()]!

/** By walking day by day over the host's calendar; the generator has day numbers of its own. */
function solve(question: string): string {
  const offset = /^Today is (\w+)\. Which weekday is it (\d+) days (later|earlier)\?$/.exec(question)
  if (offset) {
    let at = DAYS.indexOf(offset[1]!)
    for (let i = Number(offset[2]); i > 0; i--) at = (at + (offset[3] === 'later' ? 1 : 6)) % 7
    return DAYS[at]!
  }
  const supposed = /^If 1 January of a (leap|common) year is a (\w+), which weekday is (.+)\?$/.exec(question)
  if (supposed)
    for (let year = 2000; year < 2040; year++)
      if ((year % 4 === 0) === (supposed[1] === 'leap') && weekday(Date.UTC(year, 0, 1)) === supposed[2])
        return weekday(utc(`${supposed[3]} ${year}`))
  const date = /^Which weekday is (.+)\?$/.exec(question)
  if (date) return weekday(utc(date[1]!))
  const leap = /^Is (\d+) a leap year\?$/.exec(question)
  if (leap) return new Date(Date.UTC(Number(leap[1]), 1, 29)).getUTCMonth() === 1 ? 'Yes' : 'No'
  const recurring = /^On which day of (\w+) (\d+) is the (\w+) (\w+)\?$/.exec(question)
  if (recurring) {
    const days: number[] = []
    const start = utc(`1 ${recurring[1]} ${recurring[2]}`)
    for (let at = start; new Date(at).getUTCMonth() === new Date(start).getUTCMonth(); at += DAY_MS)
      if (weekday(at) === recurring[4]) days.push(new Date(at).getUTCDate())
    return String(days.at(['first', 'second', 'third', 'fourth'].indexOf(recurring[3]!)))
  }
  const count = /^How many (.+) from (\d+ \w+ \d+) to (\d+ \w+ \d+), both included\?$/.exec(question)!
  let counted = 0
  for (let at = utc(count[2]!); at <= utc(count[3]!); at += DAY_MS) {
    const name = weekday(at)
    if (count[1] === 'days from Monday to Friday' ? !name.startsWith('S') : `${name}s` === count[1]) counted++
  }
  return String(counted)
}

taskConformance(task, {
  solve,
  baselines: {
    'the question': (question) => question,
    'the weekday named': (question) => /\w+day/.exec(question)?.[0] ?? '',
    Monday: () => 'Monday',
    No: () => 'No',
    seven: () => '7',
  },
  equations: 0,
  // There are seven weekdays, and half of the years asked about are leap years.
  luck: { 0: 0.22, 1: 0.22, 2: 0.22, 3: 0.22, 4: 0.15, 5: 0.15 },
})

const keyed = (key: string, answer: string): Instance => ({ question: '', key, steps: [], data: { answer } })

describe('calendar_arithmetic', () => {
  it.each([
    ['Monday', 'weekday', 'Monday'],
    ['Monday', 'weekday', 'monday'],
    ['Monday', 'weekday', 'MON'],
    ['Monday', 'weekday', 'Monday.'],
    ['Yes', 'yes-no', 'yes'],
    ['No', 'yes-no', '**No**'],
    ['7', 'number', '7'],
    ['7', 'number', '07'],
    ['7', 'number', '7.0'],
  ])('takes for %s, a %s, %s', (key, kind, answer) => {
    expect(task.verify(keyed(key, kind), inTags(answer)).score).toBe(1)
  })

  it.each([
    ['Monday', 'weekday', 'Tuesday'],
    ['Monday', 'weekday', 'Mond'],
    ['Monday', 'weekday', 'Monday or Tuesday'],
    ['Monday', 'weekday', '1'],
    ['Yes', 'yes-no', 'no'],
    ['Yes', 'yes-no', 'yes and no'],
    ['7', 'number', '6'],
    ['7', 'number', '1_7'],
    ['7', 'number', 'seven'],
    ['7', 'number', `7${'0'.repeat(400)}`],
  ])('does not take for %s, a %s, %s', (key, kind, answer) => {
    expect(task.verify(keyed(key, kind), inTags(answer)).score).toBe(0)
  })

  it('asks about leap and common years alike, and about centuries', () => {
    const years = [...items(task, 1500)].filter(({ question }) => question.includes('leap year?'))
    const leap = years.filter(({ key }) => key === 'Yes').length / years.length
    const centuries = years.filter(({ question }) => /\d\d00/.test(question)).length / years.length
    expect(Math.abs(leap - 0.5)).toBeLessThan(0.08)
    expect(centuries).toBeGreaterThan(0.1)
  })
})
