// Memory of the screen over many updates: the app as it is, drawn into the real sink, whose output goes nowhere. Each
// update changes every number, brings events, and is taken before the next one comes; the tab changes now and then.

import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { createScriptedNode } from '../../../test/control/scripted-node.ts'
import { readyStore, scriptedClient } from '../../../test/tui/screen.ts'
import { createApp } from '../../../tui/app.ts'
import { createLayout } from '../../../tui/screen/layout.ts'
import { createSink } from '../../../tui/screen/sink.ts'
import { keepHeapSmall } from '../../../tui/screen/small-heap.ts'
import { createTheme } from '../../../tui/screen/theme.ts'

const LOOKS = 10
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

export async function measureMemory({ updates }: { updates: number }): Promise<string[]> {
  keepHeapSmall()
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const node = createScriptedNode()
  node.advance(300)
  const client = scriptedClient(node.snapshot, { groups: async () => ({ v: 1, groups: node.groups!({}) }) })
  const store = await readyStore(client, Date.now)
  let written = 0
  const target = {
    write: (text: string) => {
      written += text.length
    },
  }
  const sink = createSink({ columns: 100, rows: 30 }, { target, layout: createLayout() })
  sink.open = true
  const app = createApp(
    {
      store,
      theme: createTheme({ ascii: false, color: true, env: { TERM: 'xterm-256color', LANG: 'C.UTF-8' } }),
      size: { columns: 100, rows: 30 },
      intervalMs: 250,
      host: undefined,
      readOnly: false,
      commands: [],
      onDetach() {},
      onSuspend() {},
      onRepaint() {},
      onMouse() {},
      mouse: true,
      onCommand: async () => ({ status: 0, lines: [] }),
      onCopy() {},
      onExport: () => '',
    },
    sink,
  )
  let seen = node.events.last
  const rows = [`| updates | heap after collection | resident | written |`, '|---|---|---|---|']
  const look = (done: number): void => {
    collect()
    const { heapUsed, rss } = process.memoryUsage()
    rows.push(
      `| ${done} | ${(heapUsed / 1e6).toFixed(1)} MB | ${(rss / 1e6).toFixed(0)} MB | ${(written / 1e6).toFixed(1)} MB |`,
    )
  }
  for (let i = 0; i < updates; i++) {
    if (i % Math.ceil(updates / LOOKS) === 0) look(i)
    node.advance(1)
    for (const event of node.events.since(seen).events) client.push(event)
    seen = node.events.last
    client.push({ v: 1, id: 0, time: 0, type: 'snapshot', snapshot: node.snapshot() })
    if (i % 40 === 39) app.take({ type: 'key', name: String(1 + (Math.floor(i / 40) % 6)), text: '' })
    const step = node.snapshot().training?.step
    while (store.view().snapshot?.training?.step !== step) await turn()
    // The picture is made in a later turn of the loop.
    await turn()
    await turn()
  }
  look(updates)
  store.close()
  app.close()
  return rows
}
