// What a person meets who watches a node for a while: things come and go while something is read, the node ends, the
// window is small.

import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { Event, GroupView } from '../../protocol/api/index.ts'
import { createStore } from '../../tui/data/store.ts'
import { KEYS } from '../../tui/keys.ts'
import { createTheme } from '../../tui/screen/theme.ts'
import { TABS } from '../../tui/tabs/index.ts'
import { panel } from '../../tui/widgets/panel.ts'
import { createScriptedNode, OTHER } from '../control/scripted-node.ts'
import { scriptedClient, until } from './screen.ts'
import { type Screen, show } from './show.ts'

const textOf = async ({ emulator }: Screen): Promise<string> => (await emulator.text()).join('\n')
const plain = (row: string): string => row.replaceAll(/\u001b\[\d+m/g, '')
const chosen = async ({ emulator }: Screen): Promise<string> =>
  (await emulator.text()).find((row) => row.includes('▸')) ?? ''

/** Waits until the store has taken what was sent. */
async function send(screen: Screen, events: readonly Event[] = [], change: object = {}): Promise<void> {
  const { client, store } = screen
  const before = store.view()
  for (const event of events) client.push(event)
  const snapshot = { ...before.snapshot!, ...change }
  client.push({ v: 1, id: 0, time: 0, type: 'snapshot', snapshot })
  await until(
    () => store.view() !== before && store.view().events.length === before.events.length + events.length,
  )
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
}

describe('what the cursor is on stays while other things come', () => {
  const line = (id: number): Event => ({
    ...{ v: 1, id, time: 0, type: 'log', level: 'info', area: 'a' },
    message: `line ${id}.`,
  })

  test('a line of the log', async () => {
    const screen = await show({ columns: 100, rows: 30 })
    await send(screen, [1, 2, 3, 4].map(line))
    await screen.press('6')
    await screen.press('k')
    expect(await chosen(screen)).toContain('line 3.')
    await send(screen, [5, 6].map(line))
    expect(await chosen(screen)).toContain('line 3.')
    expect((await screen.emulator.text())[2]).toContain('3 newer below')
    // There is room for all.
    expect(await textOf(screen)).toMatch(/line 1\.[\s\S]*line 3\.[\s\S]*line 6\./)
    await screen.press('f')
    await send(screen, [7].map(line))
    expect((await screen.emulator.text())[2]).toContain('following')
    expect(await textOf(screen)).toContain('line 7.')
  })

  test('the JSON of the newest line, once it is open', async () => {
    const screen = await show({ columns: 100, rows: 30 })
    await send(screen, [1, 2].map(line))
    await screen.press('6')
    await screen.press('\r')
    await send(screen, [3].map(line))
    expect(await textOf(screen)).toContain('"message":"line 2."')
  })

  test('a group, and the newest one if nobody has moved the cursor', async () => {
    const group = (n: number): GroupView => ({
      ...{ id: `g${n}`, time: n, origin: 'own', author: OTHER, authorName: 'x', task: 'sums', seed: n },
      ...{ difficulty: 1, arm: 'base', version: 1, rewards: [0, 1] },
    })
    let groups = [3, 2, 1].map(group)
    const node = createScriptedNode()
    node.advance(5)
    const screen = await show({ columns: 100, rows: 30, snapshot: node.snapshot, groups })
    screen.client.groups = async () => ({ v: 1, groups })
    const arrives = async (n: number) => {
      groups = [group(n), ...groups]
      node.advance(1)
      await send(screen, [], node.snapshot())
      await until(() => screen.store.view().groups[0]?.id === `g${n}`)
      await screen.press('')
    }
    await screen.press('3')
    await until(async () => (await chosen(screen)).includes('sums/3'))
    await arrives(4)
    expect(await chosen(screen)).toContain('sums/4')
    await screen.press('j')
    expect(await chosen(screen)).toContain('sums/3')
    await arrives(5)
    expect(await chosen(screen)).toContain('sums/3')
  })

  test('a peer, although another one sends more', async () => {
    const screen = await show({ columns: 100, rows: 30 })
    const { swarm } = screen.store.view().snapshot!
    const [first] = swarm!.peers
    const other = { ...first!, id: 'B'.repeat(52), name: 'slow-newt', received: 1 }
    await send(screen, [], { swarm: { ...swarm, peers: [first, other] }, state: 'SAVING' })
    await screen.press('2')
    await screen.press('j')
    expect(await chosen(screen)).toContain('slow-newt')
    await send(screen, [], {
      ...{ swarm: { ...swarm, peers: [first, { ...other, received: 1e6 }] } },
      state: 'EVALUATING',
    })
    expect(await chosen(screen)).toContain('slow-newt')
  })
})

describe('at 80 x 24', () => {
  const small = { columns: 80, rows: 24 }

  test('help cuts no key, and none touches the next', async () => {
    const screen = await show({ ...small, rows: 140 })
    await screen.press('?')
    const rows = (await screen.emulator.text()).map((row) => row.replaceAll('│', '').trim())
    for (const { shown, does } of KEYS) expect(rows).toContain(`${shown.padEnd(10)} ${does}`)
    expect(rows.join('\n')).not.toContain('…')
  })

  test('a change of reward keeps the unit of its time, or has none', async () => {
    const node = createScriptedNode()
    node.advance(400)
    const snapshot = node.snapshot()
    const evaluations = snapshot.evaluations!.map((one) => ({ ...one, prompts: 1000 }))
    const screen = await show({ ...small, snapshot: () => ({ ...snapshot, evaluations }) })
    expect(await textOf(screen)).toMatch(/reward 0\.\d+ ↑ \+0\.\d+( in \d+ min)? {2,}held-out/)
  })

  test('the details of a peer are all there', async () => {
    const screen = await show(small)
    await screen.press('2\r')
    const all = await textOf(screen)
    for (const part of [`id ${OTHER}`, 'trained on', 'mean reward', 'share of the foreign gradient'])
      expect(all).toContain(part)
  })

  test('how many peers are in the mesh is not cut', async () => {
    const screen = await show(small)
    await screen.press('2')
    expect(await textOf(screen)).toContain('1 connected, 1 in the mesh')
  })

  test('an answer of one line that does not fit below covers the body', async () => {
    const lines = [
      `No peers yet. Join one with \`npm run -s waggle -- join <peer ID> --home ${'x'.repeat(40)}\`.`,
    ]
    const screen = await show({ ...small, reply: () => ({ status: 0, lines }) })
    await screen.press(':peers\r')
    await until(async () => (await screen.emulator.text())[2]!.includes(':peers'))
    expect((await textOf(screen)).replaceAll(/[│\s]/g, '')).toContain(lines[0]!.replaceAll(' ', ''))
  })
})

test('groups are sorted from the highest reward, and a kind that is missing is named', async () => {
  const screen = await show({ columns: 100, rows: 30 })
  await screen.press('3')
  await until(() => screen.store.view().groups.length > 0)
  await screen.press('R')
  const means = (await screen.emulator.text()).flatMap((row) => /(\d\.\d\d) \d\.\d\d/.exec(row)?.[1] ?? [])
  expect(means.length).toBeGreaterThan(3)
  expect(means).toEqual([...means].sort().reverse())
  const groups = screen.store.view().groups.filter(({ origin }) => origin === 'own')
  const own = await show({ columns: 100, rows: 30, groups: [...groups] })
  await own.press('3')
  await until(() => own.store.view().groups.length > 0)
  await own.press('ss')
  expect(await textOf(own)).toContain('none of the newest groups is foreign')
})

test('a title that is cut is followed by the border', () => {
  const theme = createTheme({ ascii: false, color: false, env: {} })
  const [top] = panel({
    title: 'basic_arithmetic/1179651823  8 samples',
    width: 40,
    height: 3,
    rows: [],
    theme,
  })
  expect(plain(top!)).toMatch(/^╭─ .*1179651823… ─+╮$/)
})

test('a daemon that is back is found within five seconds, however long it was gone', async () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  let isBack = false
  const snapshot = createScriptedNode().snapshot()
  const client = scriptedClient(() => snapshot)
  const { health } = client
  client.health = async () => (isBack ? health() : Promise.reject(new Error('nobody answers')))
  const store = createStore({ intervalMs: 250 }, { client, clock: () => 0 })
  onTestFinished(store.close)
  await vi.advanceTimersByTimeAsync(92_000)
  expect(store.view().contact).toBe('lost')
  isBack = true
  await vi.advanceTimersByTimeAsync(5000)
  expect(store.view().contact).toBe('live')
})

test.each([
  [100, 30],
  [60, 20],
])('once the daemon is gone, nothing says that all is well at %i x %i', async (columns, rows) => {
  const screen = await show({ columns, rows })
  expect(await textOf(screen)).not.toContain('no contact')
  screen.client.health = async () => {
    throw new Error('nobody answers')
  }
  screen.client.hangUp()
  await until(async () => (await textOf(screen)).includes('no contact, see `:status`'))
  expect(await textOf(screen)).not.toMatch(/nothing needs you|no peers; training alone|last seen$/m)
})

test('a node that has trained and is paused is not told to have no speed yet', async () => {
  const node = createScriptedNode()
  node.advance(400)
  const { training, ...rest } = node.snapshot()
  const { generateTokensPerSecond: _, trainTokensPerSecond: __, ...still } = training!
  const screen = await show({
    ...{ columns: 100, rows: 30 },
    snapshot: () => ({ ...rest, training: still, state: 'PAUSED' }),
  })
  const all = await textOf(screen)
  expect(all).not.toContain('none yet')
  expect(all).toContain('none now')
})

test('what a plugin costs has one format, however little it is', async () => {
  const node = createScriptedNode()
  node.advance(4)
  const plugins = [
    { kind: 'estimator', name: 'a', state: 'ok', msPerStep: 0.056 },
    { kind: 'estimator', name: 'b', state: 'ok', msPerStep: 1.21 },
  ] as const
  const screen = await show({
    ...{ columns: 100, rows: 30 },
    snapshot: () => ({ ...node.snapshot(), plugins: [...plugins] }),
  })
  await screen.press('5')
  const all = await textOf(screen)
  expect(all).toMatch(/ok +0\.1/)
  expect(all).toMatch(/ok +1\.2/)
})

test('a single peer is one peer in the smallest window', async () => {
  const { emulator } = await show({ columns: 39, rows: 9 })
  expect((await emulator.text())[0]).toMatch(/ 1 peer( |$)/)
})

test.each(TABS.map(({ title }, i) => [title, String(i + 1)]))(
  '%s has no character beyond ASCII where the terminal has none, help and notes included',
  async (_title, key) => {
    const screen = await show({
      columns: 80,
      rows: 24,
      ascii: true,
      reply: () => new Promise(() => {}) as never,
    })
    await screen.press(key)
    if (key === '3') await until(() => screen.store.view().groups.length > 0)
    for (const next of ['', '?', '?', ':plugins\r']) {
      await screen.press(next)
      expect(await textOf(screen)).toMatch(/^[\x20-\x7e\n]*$/)
    }
  },
)
