// Joins the user, the store and the picture: keys go to the desk (desk.ts), and what it and the store hold is drawn. Knows
// nothing about sockets or terminals; both are passed in as functions. The layout is in picture.tsx.

import { useInput, usePaste } from 'ink'
import { type ReactElement, useEffect, useReducer, useRef, useSyncExternalStore } from 'react'
import { narrow } from './data/inert.ts'
import { createDesk, type Desk, type DeskProps } from './desk.ts'
import { strokesOf } from './keys.ts'
import { Picture } from './picture.tsx'
import { TABS } from './tabs/index.ts'
import { PROMPT } from './typing.ts'

export interface AppProps extends DeskProps {
  intervalMs: number
  /** The daemon's host, if it is remote. */
  host: string | undefined
  input: boolean
}

export function App(props: AppProps): ReactElement {
  const { store, theme, size, intervalMs, host, replay } = props
  const live = useSyncExternalStore(store.subscribe, store.view)
  const [, draw] = useReducer((times: number) => times + 1, 0)
  const latest = useRef(props)
  latest.current = props
  const made = useRef<Desk>(undefined)
  made.current ??= createDesk(() => latest.current, { draw })
  const desk = made.current
  const { tab, uis, frozen, over, note, line } = desk.state

  const current = TABS[tab]!
  useEffect(() => store.want(current), [store, current])
  useEffect(() => desk.drawn())
  useInput(
    (input, key) => {
      for (const stroke of strokesOf(input, key)) desk.press(stroke)
    },
    { isActive: props.input },
  )
  usePaste((text) => desk.paste(text), { isActive: props.input })

  return (
    <Picture
      view={frozen ?? live}
      ui={uis[tab]!}
      theme={theme}
      size={size}
      intervalMs={intervalMs}
      host={host}
      over={over}
      tab={tab}
      frozen={frozen !== undefined}
      position={replay?.position()}
      note={line ? `${PROMPT[line.kind]}${narrow(line.text)}_` : note}
    />
  )
}
