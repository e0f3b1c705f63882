// set: the same items in any order, none missing, extra or repeated. An enclosing pair of brackets is removed.

import { MAX_TEXT_CHARS, plainText } from './plain-text.ts'
import { Fault, flag, type Settings, textsOf, type Verifier } from './verifier.ts'

const BRACKETS = ['{}', '[]']

function itemsOf(text: string, { separator, ignore_case }: Settings): string[] {
  const plain = plainText(text, ignore_case === true)
  const bracketed = plain.length >= 2 && BRACKETS.includes(plain[0]! + plain.at(-1)!)
  const inner = (bracketed ? plain.slice(1, -1) : plain).trim()
  if (inner === '' || inner === '\u2205') return []
  return inner
    .split(ignore_case === true ? (separator as string).toLowerCase() : (separator as string))
    .map((item) => item.trim())
}

export const set: Verifier = {
  name: 'set',
  summary: 'The same items in any order, each once, parted by `separator` (a comma if unset)',
  keys: ['separator', 'ignore_case'],
  settings(given) {
    const { separator = ',' } = given
    if (typeof separator !== 'string' || separator.length < 1 || separator.length > 8)
      throw new Fault('"separator" must be a text of 1 to 8 characters')
    if (separator !== ' ' && plainText(separator, false) !== separator)
      throw new Fault('"separator" must not begin or end with white space; that around items is ignored')
    return { separator, ignore_case: flag(given, 'ignore_case') }
  },
  key(answer, settings) {
    const separator = settings.separator as string
    const given = typeof answer === 'object' ? textsOf(answer) : itemsOf(textsOf(answer)[0]!, settings)
    const items = given.map((item) => plainText(item, settings.ignore_case === true))
    for (const item of items) {
      if (item === '') throw new Fault('"answer" has an empty item')
      if (item.includes(separator))
        throw new Fault(`item "${item.slice(0, 40)}" has the separator "${separator}" in it; choose another`)
    }
    if (new Set(items).size < items.length) throw new Fault('"answer" names an item twice')
    const key = given.map((item) => plainText(item, false)).join(separator === ' ' ? ' ' : `${separator} `)
    if (key.length > MAX_TEXT_CHARS) throw new Fault(`"answer" has more than ${MAX_TEXT_CHARS} characters`)
    return items.length === 0 ? '{}' : key
  },
  accepts(text, answer, settings) {
    if (text.length > MAX_TEXT_CHARS) return false
    const given = itemsOf(text, settings)
    const right = new Set(
      (typeof answer === 'object' ? textsOf(answer) : itemsOf(textsOf(answer)[0]!, settings)).map((item) =>
        plainText(item, settings.ignore_case === true),
      ),
    )
    const distinct = new Set(given)
    return (
      given.length === right.size && distinct.size === right.size && given.every((item) => right.has(item))
    )
  },
}
