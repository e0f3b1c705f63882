// Orders in sentences, for json_extraction: who orders how much of what, and in harder sentences what else has a name or a
// number. Words and sentences are our own.

import type { Dice } from '../random.ts'

export interface Order {
  customer: string
  item: string
  count: number
  /** For one piece. */
  price: number
  /** As in 2027-03-09. */
  date: string
}

const NAMES =
  'Ada Ben Carla Dario Elena Felix Greta Hugo Ines Jonas Klara Leon Mira Nora Oscar Paula Quentin Rosa Simon Tara Umar Vera Walter Yara'.split(
    ' ',
  )
const ITEMS =
  'apples baskets bells blankets books bottles bowls boxes brushes buckets candles chairs clocks combs cups drums forks gloves hammers hats jars kettles keys knives ladders lamps mirrors needles pans pencils pillows plates radios ropes rugs scarves shirts shovels spoons stools tables tents towels vases'.split(
    ' ',
  )
const NUMBERS = Array.from({ length: 98 }, (_, i) => i + 2)
const MONTHS = 'January February March April May June July August September October November December'.split(
  ' ',
)

const PLAIN = [
  '{customer} bought {count} {item}.',
  '{customer} would like to have {count} {item}.',
  'Please send {count} {item} to {customer}.',
  '{count} {item} were sold to {customer}.',
  'A new order came in from {customer}: {count} {item}.',
  'We still owe {customer} the {count} {item} that were paid for.',
] as const

const WITH_OTHERS = [
  '{other} wrote down order {number}: {count} {item} for {customer}.',
  '{customer} of {number} Mill Road ordered {count} {item} from {other}.',
  '{customer} wanted {number} {item} at first, but {other} noted that it is now {count}.',
  '{other} packed {count} {item} for {customer} into {number} boxes.',
  'Order {number}, which {other} took: {customer} buys {count} {item}.',
  '{other} asked for {number} {thing}, and {customer} for {count} {item}; enter what {customer} wants.',
] as const

/** What is said about price and day, by itself. */
const TERMS = [
  'The price is {price} each, and the day is {day}.',
  'It is due on {day} and costs {price} apiece.',
  'On {day} we charge {price} for one.',
] as const

/** `others`: somebody else and another number are named as well. `terms`: price and day are. */
export function drawOrder(
  dice: Dice,
  { others, terms }: { others: boolean; terms: boolean },
): { order: Order; text(): string } {
  const [customer, other] = two(NAMES, dice)
  const [item, thing] = two(ITEMS, dice)
  const [count, number] = two(NUMBERS, dice)
  const price = dice.between(2, 199) / 4
  const [month, day] = [dice.below(12), dice.between(1, 28)]
  const sentences = [dice.pick(others ? WITH_OTHERS : PLAIN), ...(terms ? [dice.pick(TERMS)] : [])]
  const words = { customer, other, item, thing, count, number, price: price.toFixed(2) }
  const said: Record<string, unknown> = { ...words, day: `${day} ${MONTHS[month]} 2027` }
  const date = `2027-${`${month + 1}`.padStart(2, '0')}-${`${day}`.padStart(2, '0')}`
  return {
    order: { customer, item, count, price, date },
    text: () => sentences.join(' ').replace(/\{(\w+)\}/g, (_, name: string) => `${said[name]}`),
  }
}

/** Two different ones: if the other were the same, it would be right by chance. */
function two<T>(from: readonly T[], dice: Dice): [T, T] {
  const at = dice.below(from.length)
  return [from[at]!, from[(at + dice.between(1, from.length - 1)) % from.length]!]
}
