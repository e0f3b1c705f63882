// json_extraction: write an order that a text tells of as JSON that a schema checks.
//
// The schema decides about the form: keys and types, no key missing, none added. So a count in quotes is wrong, and
// space, the order of keys and a code fence around it do not matter. Then every value must be the text's; upper and
// lower case count as the same.

import { z } from 'zod'
import { defineTask } from '../../../protocol/plugin/index.ts'
import { judge } from '../answer.ts'
import { drawInstance } from '../draw.ts'
import { stepData, workedSteps } from '../steps.ts'
import { unfenced } from '../verifiers/json.ts'
import { plainText } from '../verifiers/plain-text.ts'
import { drawOrder, type Order } from './orders.ts'

/** By key of an order, in the order in which a question names them. */
const FIELDS = {
  customer: { type: 'string' },
  item: { type: 'string' },
  count: { type: 'integer', minimum: 1 },
  price: { type: 'number', minimum: 0 },
  date: { type: 'string', pattern: '^\\d{4}-\\d{2}-\\d{2}$' },
} as const satisfies Record<keyof Order, object>

interface Level {
  keys: readonly (keyof Order)[]
  others: boolean
  described: string
}

const LEVELS: readonly Level[] = [
  {
    keys: ['customer', 'item', 'count'],
    others: false,
    described: 'customer, item and count in one sentence',
  },
  {
    keys: ['customer', 'item', 'count'],
    others: true,
    described: 'the same, next to another name and another number',
  },
  {
    keys: ['customer', 'item', 'count', 'price', 'date'],
    others: true,
    described: 'the same with a price, and a day as YYYY-MM-DD',
  },
]

const SCHEMAS = LEVELS.map(({ keys }) =>
  z.fromJSONSchema({
    type: 'object',
    properties: Object.fromEntries(keys.map((key) => [key, FIELDS[key]])),
    required: [...keys],
    additionalProperties: false,
  }),
)
/** As a question shows the schema, in few tokens. */
const SHAPES = LEVELS.map(
  ({ keys }) =>
    `{${keys.map((key) => `"${key}": ${key === 'date' ? 'YYYY-MM-DD' : FIELDS[key].type}`).join(', ')}}`,
)

/** Longer answers are wrong. */
const MAX_ANSWER_CHARS = 1024

const METHOD = 'Find the value of one key after another in the text.'

const task = defineTask({
  name: 'json_extraction',
  kind: 'task',
  api: 1,
  summary: 'Write what a text says as JSON.',
  version: 1,
  difficulty: {
    min: 0,
    max: LEVELS.length - 1,
    default: 0,
    describe: (index) => LEVELS[index]?.described ?? 'no such level',
  },
  generate(at) {
    return drawInstance(task, at, (dice, index) => {
      const { keys, others } = LEVELS[index]!
      const { order, text } = drawOrder(dice, { others, terms: keys.includes('price') })
      return {
        // All wordings of an order are on the same side of the split.
        subject: `${order.customer}, ${order.count} ${order.item}`,
        instance() {
          const question = `${text()}\nWrite this order as JSON: ${SHAPES[index]}`
          const key = `{${keys.map((name) => `"${name}": ${JSON.stringify(order[name])}`).join(', ')}}`
          return {
            question,
            key,
            steps: workedSteps(question, key, METHOD, [{ text: key, value: key }]),
            data: { ...stepData(question, key), level: index },
          }
        },
      }
    })
  },
  verify({ key, data }, completion) {
    const { level } = data as { level: number }
    return judge(completion, (answer) => {
      const given = validIn(answer, level)
      return (
        given !== undefined &&
        Object.entries(parsed(key)).every(
          ([name, value]) => plainText(`${given[name]}`, true) === plainText(`${value}`, true),
        )
      )
    })
  },
})

export default task

const parsed = (text: string) => JSON.parse(text) as Record<string, unknown>

/** What is valid by the level's schema; undefined for anything else. */
function validIn(answer: string, level: number): Record<string, unknown> | undefined {
  if (answer.length > MAX_ANSWER_CHARS) return undefined
  try {
    const value = parsed(unfenced(answer))
    return SCHEMAS[level]!.safeParse(value).success ? value : undefined
  } catch {
    return undefined
  }
}
