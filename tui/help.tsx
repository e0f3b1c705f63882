// The help page: the key table, in as many columns as fit.

import type { ReactElement } from 'react'
import { KEYS } from './keys.ts'
import type { Theme } from './screen/theme.ts'
import { Panel } from './widgets/panel.tsx'
import { cell, type Row } from './widgets/row.ts'

export function Help({
  columns,
  rows,
  theme,
}: {
  columns: number
  rows: number
  theme: Theme
}): ReactElement {
  const perColumn = Math.max(1, Math.min(rows - 2, Math.ceil(KEYS.length / 2)))
  const width = Math.floor((columns - 4) / 2)
  const lines: Row[] = Array.from({ length: perColumn }, (_, i) =>
    [KEYS[i], KEYS[i + perColumn]]
      .map((key) => (key ? cell(`${cell(key.shown, 10)} ${key.does}`, width) : ''))
      .join(''),
  )
  return <Panel title="Keys" width={columns} height={rows} theme={theme} rows={lines} />
}
