// Plugins: what is loaded, its cost, and what was switched off and why.

import type { PluginInfo } from '../../protocol/api/index.ts'
import type { View } from '../data/store.ts'
import { filterNote, filterOf } from '../filter.ts'
import { createTheme, type Theme } from '../screen/theme.ts'
import { type Block, panel } from '../widgets/panel.ts'
import type { Row } from '../widgets/row.ts'
import { type Column, orderNote, sorted, type TableOptions, tableHit, tableRows } from '../widgets/table.ts'
import { wrapText } from '../widgets/wrap.ts'
import type { Tab, TabProps, TabUi } from './tab.ts'

function columnsOf({ symbols }: Theme): Array<Column<PluginInfo>> {
  const mark = { ok: symbols.up, slow: symbols.look, failing: symbols.look, off: symbols.failed }
  return [
    { title: 'KIND', key: 'K', width: 11, drop: 0, text: (p) => p.kind },
    { title: 'NAME', key: 'A', width: 24, drop: 0, text: (p) => p.name },
    {
      title: 'STATE',
      key: 'T',
      width: 6,
      drop: 0,
      text: (p) => `${mark[p.state]} ${p.state}`,
      tone: (p) =>
        p.state === 'ok' ? 'ok' : p.state === 'slow' || p.state === 'failing' ? 'attention' : 'failure',
    },
    {
      title: 'MS/STEP',
      key: 'P',
      width: 8,
      align: 'right',
      drop: 1,
      text: (p) => p.msPerStep?.toFixed(1) ?? '-',
      value: (p) => p.msPerStep ?? -1,
    },
    { title: 'WHAT IT DOES', width: 10, grows: true, drop: 2, text: (p) => p.summary ?? '' },
  ]
}

/** The order does not depend on the terminal. */
const COLUMNS = columnsOf(createTheme({ ascii: true, color: false, env: {} }))

const pluginTable = (
  items: PluginInfo[],
  { cursor, order }: TabUi,
  theme: Theme,
  width: number,
  height: number,
): TableOptions<PluginInfo> => ({ items, columns: columnsOf(theme), width, height, cursor, order })

export const plugins: Tab = {
  title: 'Plugins',
  short: 'Plug',
  series: [],
  keys: 'j/k move  s sort  S back  / filter',
  render: renderPlugins,
  compact: ({ view, ui, columns, rows, theme }) => {
    const found = pluginsOf(view, ui)
    const chosen = found[Math.min(ui.cursor, Math.max(0, found.length - 1))]
    const detail = ui.open && chosen ? detailRows(chosen, columns - 2) : []
    const height = rows - detail.length
    return [...tableRows(pluginTable(found, ui, theme, columns, height), theme), ...detail]
  },
  items: (view, ui) => pluginsOf(view, ui).map(({ kind, name }) => `${kind}/${name}`),
  columns: COLUMNS,
  hit({ view, ui, columns, rows, theme }, column, row) {
    return tableHit(
      pluginTable(pluginsOf(view, ui), ui, theme, columns - 4, rows - LOW - 2),
      column - 2,
      row - 1,
    )
  },
}

function pluginsOf({ snapshot }: View, { filter, order }: TabUi): PluginInfo[] {
  const { matches } = filterOf(filter)
  const found = (snapshot?.plugins ?? []).filter((p) => matches(`${p.kind} ${p.name} ${p.state}`))
  return sorted(found, COLUMNS, order)
}

const LOW = 6

function renderPlugins({ view, ui, columns, rows, theme }: TabProps): Block {
  const found = pluginsOf(view, ui)
  const cursor = Math.min(ui.cursor, Math.max(0, found.length - 1))
  const chosen = found[cursor]
  const off = found.filter((p) => p.state === 'off').length
  const list: Row[] =
    found.length > 0
      ? tableRows(pluginTable(found, ui, theme, columns - 4, rows - LOW - 2), theme)
      : [ui.filter ? 'no plugin matches the filter' : 'the node has not loaded its plugins yet']
  return [
    ...panel({
      title: `Plugins  ${found.length} loaded  ${off} off${orderNote(ui.order)}${filterNote(ui.filter)}`,
      width: columns,
      height: rows - LOW,
      theme,
      rows: list,
    }),
    ...panel({
      title: chosen ? `${chosen.kind}/${chosen.name}` : 'Plugin',
      width: columns,
      height: LOW,
      theme,
      rows: chosen ? detailRows(chosen, columns - 4) : [],
    }),
  ]
}

function detailRows({ summary, state, strikes, message, kind, name }: PluginInfo, width: number): Row[] {
  return [
    ...wrapText(summary ?? '', width).slice(0, 1),
    `${state}${strikes === undefined ? '' : `, ${strikes} failures in a row`}`,
    ...wrapText(message ?? '', width).slice(0, 2),
    ...(state === 'off'
      ? [`Training continues without it. Its log: \`:logs --filter ${kind}/${name}\``]
      : []),
  ].filter((row) => row !== '')
}
