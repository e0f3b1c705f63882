// The help page: the keys of this tab, then all keys in as many columns as fit, then the commands.

import { OWN_COMMANDS, type TopCommand } from './commands.ts'
import { KEYS } from './keys.ts'
import type { Tab } from './tabs/tab.ts'
import { cell, type Row } from './widgets/row.ts'

export function helpRows(tab: Tab, commands: readonly TopCommand[], width: number): Row[] {
  const across = width >= 76 ? 2 : 1
  const each = Math.floor(width / across)
  const perColumn = Math.ceil(KEYS.length / across)
  const lines: Row[] = Array.from({ length: perColumn }, (_, i) =>
    Array.from({ length: across }, (_, k) => KEYS[i + k * perColumn])
      .map((key) => (key ? cell(`${cell(key.shown, 10)} ${key.does}`, each) : ''))
      .join(''),
  )
  const all = [...OWN_COMMANDS, ...commands]
  return [
    [['bold', `${tab.title}  `], tab.keys],
    '',
    ...lines,
    '',
    [['bold', 'After : ']],
    ...all.map(({ name, summary }) => `${cell(name, 11)} ${summary}`),
  ]
}
