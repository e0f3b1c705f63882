// The help page: the keys of this tab, then all keys in as many columns as fit, then the commands.

import { OWN_COMMANDS, type TopCommand } from './commands.ts'
import { KEYS } from './keys.ts'
import type { Tab } from './tabs/tab.ts'
import { TYPING_KEYS } from './typing.ts'
import { cell, type Row } from './widgets/row.ts'
import { wrapText } from './widgets/wrap.ts'

export function helpRows(tab: Tab, commands: readonly TopCommand[], width: number): Row[] {
  const across = width >= 2 * Math.max(...KEYS.map(({ does }) => KEY_WIDTH + does.length)) ? 2 : 1
  const each = Math.floor(width / across)
  const perColumn = Math.ceil(KEYS.length / across)
  const lines: Row[] = Array.from({ length: perColumn }, (_, i) =>
    Array.from({ length: across }, (_, k) => KEYS[i + k * perColumn])
      .map((key) => (key ? cell(`${key.shown.padEnd(KEY_WIDTH)}${key.does}`, each) : ''))
      .join(''),
  )
  const all = [...OWN_COMMANDS, ...commands]
  const pairs = (given: ReadonlyArray<readonly [string, string]>) =>
    given.flatMap((pair) => pairRows(pair, width))
  return [
    [['bold', `${tab.title}  `], tab.keys],
    '',
    ...lines,
    ...columnRows(tab, width),
    '',
    [['bold', 'Mouse']],
    ...pairs([
      ['wheel', 'scroll'],
      ['click', 'a tab; a row, and again for its details; the title of a column, to sort by it'],
    ]),
    '',
    [['bold', 'While typing']],
    ...pairs(TYPING_KEYS),
    '',
    [['bold', 'After / and &']],
    ...pairs([
      ['words', 'a regular expression; upper and lower case are alike'],
      ['!words', 'what does not match'],
    ]),
    '',
    [['bold', 'After : ']],
    ...pairs(all.map(({ name, summary }) => [name, summary])),
  ]
}

const KEY_WIDTH = 11
const COLUMN_WIDTH = 14

/** What to type and what it does, in as many rows as that takes. */
function pairRows([typed, does]: readonly [string, string], width: number): Row[] {
  const left = Math.max(KEY_WIDTH, typed.length + 1)
  return wrapText(does, width - left).map((row, i) => (i === 0 ? typed : '').padEnd(left) + row)
}

/** The keys that sort the table of a tab. */
function columnRows({ columns = [] }: Tab, width: number): Row[] {
  const keyed = columns.filter(({ key }) => key !== undefined)
  if (keyed.length === 0) return []
  const across = Math.max(1, Math.floor(width / COLUMN_WIDTH))
  const rows = Array.from({ length: Math.ceil(keyed.length / across) }, (_, i) =>
    keyed
      .slice(i * across, (i + 1) * across)
      .map(({ title, key }) => cell(`${key} ${title.toLowerCase()}`, COLUMN_WIDTH))
      .join(''),
  )
  return ['', [['bold', 'Sort by'], '  the same key again: from the other end'], ...rows]
}
