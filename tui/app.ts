// Joins the user, the store and the picture: inputs go to the desk (desk.ts), and what it and the store hold is drawn,
// once for all that arrived together. Knows nothing about sockets or terminals. The layout is in picture.ts.

import { createDesk } from './desk.ts'
import type { DeskProps, Size } from './desk-state.ts'
import { picture } from './picture.ts'
import type { Input } from './screen/decode.ts'
import { TABS } from './tabs/index.ts'
import { lineRow } from './typing.ts'
import type { Block } from './widgets/panel.ts'

export interface AppProps extends DeskProps {
  intervalMs: number
  /** The daemon's host, if it is remote. */
  host: string | undefined
}

export interface App {
  take(input: Input): void
  resize(size: Size): void
  close(): void
}

export function createApp(props: AppProps, { show }: { show(rows: Block): void }): App {
  const { store, theme, intervalMs, host, replay } = props
  let { size } = props
  let due: NodeJS.Immediate | undefined
  let wanted: number | undefined
  const paint = (): void => {
    due = undefined
    const { tab, uis, frozen, over, note, line } = desk.state
    if (tab !== wanted) store.want(TABS[tab]!)
    wanted = tab
    show(
      picture({
        view: frozen ?? store.view(),
        ui: uis[tab]!,
        theme,
        size,
        intervalMs,
        host,
        over,
        tab,
        frozen: frozen !== undefined,
        position: replay?.position(),
        note: line ? lineRow(line, size.columns) : note === undefined ? undefined : ['bold', ` ${note}`],
        candidates: line?.candidates ?? [],
      }),
    )
    desk.drawn()
  }
  // Inputs that wait are taken before the next picture is made.
  const draw = (): void => {
    due ??= setImmediate(paint)
  }
  const desk = createDesk(() => ({ ...props, size }), { draw })
  const unsubscribe = store.subscribe(desk.news)
  draw()
  return {
    take(input) {
      if (input.type === 'key') desk.press(input)
      else if (input.type === 'paste') desk.paste(input.text)
      else desk.point(input)
    },
    resize(next) {
      size = next
      draw()
    },
    close() {
      unsubscribe()
      clearImmediate(due)
    },
  }
}
