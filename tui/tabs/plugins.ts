// Plugins: what is loaded, its cost, and what was switched off and why.

import { decimal, type PluginInfo } from '../../protocol/api/index.ts'
import type { View } from '../data/store.ts'
import type { Theme } from '../screen/theme.ts'
import { type Block, panel } from '../widgets/panel.ts'
import type { Row } from '../widgets/row.ts'
import { type Column, tableRows } from '../widgets/table.ts'
import { wrapText } from '../widgets/wrap.ts'
import type { Tab, TabProps, TabUi } from './tab.ts'

export const plugins: Tab = {
  title: 'Plugins',
  short: 'Plug',
  series: [],
  keys: 'j/k move  Enter details  / filter',
  render: renderPlugins,
  compact: ({ view, ui, columns, rows, theme }) => {
    const found = pluginsOf(view, ui)
    const chosen = found[Math.min(ui.cursor, Math.max(0, found.length - 1))]
    const detail = ui.open && chosen ? detailRows(chosen, columns - 2) : []
    const height = rows - detail.length
    return [
      ...tableRows(
        { items: found, columns: columnsOf(theme), width: columns, height, cursor: ui.cursor },
        theme,
      ),
      ...detail,
    ]
  },
  count: (view, ui) => pluginsOf(view, ui).length,
}

function pluginsOf({ snapshot }: View, { filter }: TabUi): PluginInfo[] {
  const wanted = filter.toLowerCase()
  return (snapshot?.plugins ?? []).filter((p) =>
    `${p.kind} ${p.name} ${p.state}`.toLowerCase().includes(wanted),
  )
}

function columnsOf({ symbols }: Theme): Array<Column<PluginInfo>> {
  const mark = { ok: symbols.up, slow: symbols.look, failing: symbols.look, off: symbols.failed }
  return [
    { title: 'KIND', width: 11, drop: 0, text: (p) => p.kind },
    { title: 'NAME', width: 24, drop: 0, text: (p) => p.name },
    {
      title: 'STATE',
      width: 6,
      drop: 0,
      text: (p) => `${mark[p.state]} ${p.state}`,
      tone: (p) =>
        p.state === 'ok' ? 'ok' : p.state === 'slow' || p.state === 'failing' ? 'attention' : 'failure',
    },
    { title: 'ms/step', width: 8, align: 'right', drop: 1, text: (p) => decimal(p.msPerStep, 1) },
    { title: 'WHAT IT DOES', width: 10, grows: true, drop: 2, text: (p) => p.summary ?? '' },
  ]
}

function renderPlugins({ view, ui, columns, rows, theme }: TabProps): Block {
  const found = pluginsOf(view, ui)
  const cursor = Math.min(ui.cursor, Math.max(0, found.length - 1))
  const chosen = found[cursor]
  const low = 6
  const off = found.filter((p) => p.state === 'off').length
  const list: Row[] =
    found.length > 0
      ? tableRows(
          { items: found, columns: columnsOf(theme), width: columns - 4, height: rows - low - 2, cursor },
          theme,
        )
      : ['the node has not loaded its plugins yet']
  return [
    ...panel({
      title: `Plugins  ${found.length} loaded  ${off} off`,
      width: columns,
      height: rows - low,
      theme,
      rows: list,
    }),
    ...panel({
      title: chosen ? `${chosen.kind}/${chosen.name}` : 'Plugin',
      width: columns,
      height: low,
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
