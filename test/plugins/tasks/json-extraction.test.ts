import { describe, expect, it } from 'vitest'
import task from '../../../plugins/tasks/text/json-extraction.ts'
import type { Instance } from '../../../protocol/train/index.ts'
import { inTags, taskConformance } from './conformance.ts'

/** By sentence: what the customer, the count and the item are, by the order in which they are named. */
const READ: readonly [RegExp, 'customer count item' | 'count item customer' | 'customer item count'][] = [
  [/^Please send (\d+) (\w+) to (\w+)\./, 'count item customer'],
  [/^(\d+) (\w+) were sold to (\w+)\./, 'count item customer'],
  [/^\w+ wrote down order \d+: (\d+) (\w+) for (\w+)\./, 'count item customer'],
  [/^\w+ packed (\d+) (\w+) for (\w+) into \d+ boxes\./, 'count item customer'],
  [/^A new order came in from (\w+): (\d+) (\w+)\./, 'customer count item'],
  [/^We still owe (\w+) the (\d+) (\w+) that/, 'customer count item'],
  [/^Order \d+, which \w+ took: (\w+) buys (\d+) (\w+)\./, 'customer count item'],
  [/^\w+ asked for \d+ \w+, and (\w+) for (\d+) (\w+);/, 'customer count item'],
  [/^(\w+) of \d+ Mill Road ordered (\d+) (\w+) from/, 'customer count item'],
  [/^(\w+) wanted \d+ (\w+) at first, but \w+ noted that it is now (\d+)\./, 'customer item count'],
  [/^(\w+) (?:bought|would like to have) (\d+) (\w+)\./, 'customer count item'],
]

/** One expression for each sentence; the day by the platform's own calendar. */
function solve(question: string): string {
  const [found, names] = READ.map(([pattern, order]) => [pattern.exec(question), order] as const).find(
    ([match]) => match,
  )!
  const read = Object.fromEntries(names.split(' ').map((name, i) => [name, found![i + 1]!]))
  const [price, day] = [/(\d+\.\d\d)/.exec(question), /(\d+ [A-Z][a-z]+ 2027)/.exec(question)]
  return JSON.stringify({
    ...(day && { date: new Date(`${day[1]} UTC`).toISOString().slice(0, 10) }),
    ...(price && { price: Number(price[1]) }),
    ...{ count: Number(read.count), item: read.item, customer: read.customer },
  })
}

const wordsOf = (question: string): [name: string | undefined, count: number] => [
  question.match(/\b[A-Z][a-z]+\b/)?.[0],
  Number(question.match(/\d+/)?.[0]),
]

taskConformance(task, {
  solve,
  baselines: {
    'the question': (question) => question,
    'its first words': (question) => {
      const [customer, count] = wordsOf(question)
      return JSON.stringify({ customer, item: 'books', count })
    },
  },
  equations: 0,
})

const order: Instance = {
  question: 'Nora bought 12 lamps.',
  key: '{"customer": "Nora", "item": "lamps", "count": 12}',
  steps: [],
  data: { level: 0 },
}

describe('json_extraction', () => {
  it.each([
    '{"customer": "Nora", "item": "lamps", "count": 12}',
    '{"count":12.0,"item":"Lamps",\n "customer":"Nora"}',
    '```json\n{"customer": "Nora", "item": "lamps", "count": 12}\n```',
  ])('accepts %j', (answer) => expect(task.verify(order, inTags(answer)).score).toBe(1))

  it.each([
    ['a count in quotes', '{"customer": "Nora", "item": "lamps", "count": "12"}'],
    ['another key', '{"customer": "Nora", "item": "lamps", "count": 12, "color": "red"}'],
    ['a missing key', '{"customer": "Nora", "item": "lamps"}'],
    ['another value', '{"customer": "Nora", "item": "lamps", "count": 11}'],
    ['an array', '[{"customer": "Nora", "item": "lamps", "count": 12}]'],
    ['what is no JSON', "{'customer': 'Nora', 'item': 'lamps', 'count': 12}"],
    ['text around it', 'Here: {"customer": "Nora", "item": "lamps", "count": 12}'],
    ['a key of the prototype', '{"__proto__": {"customer": "Nora", "item": "lamps", "count": 12}}'],
  ])('refuses %s', (_, answer) => expect(task.verify(order, inTags(answer)).score).toBe(0))
})
