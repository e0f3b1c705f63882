import { describe, expect, test } from 'vitest'
import { KEYS } from '../../tui/keys.ts'
import { TABS } from '../../tui/tabs/index.ts'
import { TYPING_KEYS } from '../../tui/typing.ts'
import { createScriptedNode, OTHER } from '../control/scripted-node.ts'
import { until } from './screen.ts'
import { show } from './show.ts'

const SIZES = [
  [100, 30],
  [80, 24],
  [60, 15],
  [200, 60],
  [39, 9],
] as const

describe.each(SIZES)('at %i x %i', (columns, rows) => {
  test('the overview fills the screen and answers the questions', async () => {
    const { emulator } = await show({ columns, rows })
    const text = await emulator.text()
    for (const row of text) expect([...row].length).toBeLessThanOrEqual(columns)
    const all = text.join('\n')
    expect(all).toContain('TRAINING')
    expect(all).toMatch(/reward 0\.6\d\d|r 0\.6\d\d/)
    if (rows < 10) return
    expect(all).toMatch(/peers +1/)
    expect(all).toMatch(/held-out \d\d(\.\d)? % \(\d/)
    expect(all).toContain('q detach')
    if (rows < 24) return
    expect(text.at(-1)).toContain('live 250 ms')
    // Every box is closed: as many corners on the left as on the right, top and bottom.
    for (const pair of ['╭╮', '╰╯', '╭╰']) expect(countOf(all, pair[0]!)).toBe(countOf(all, pair[1]!))
  })

  test.each(TABS.map((tab, i) => [tab.title, String(i + 1)]))(
    '%s draws with nothing known, too',
    async (_title, key) => {
      const bare = createScriptedNode().snapshot()
      const screen = await show({
        columns,
        rows,
        snapshot: () => ({ v: 1, time: bare.time, state: 'STARTING', node: bare.node }),
      })
      await screen.press(key)
      const all = (await screen.emulator.text()).join('\n')
      expect(all).toContain('STARTING')
      expect(all).not.toMatch(/NaN|undefined|Infinity|\[object/)
    },
  )
})

const countOf = (text: string, character: string): number => text.split(character).length - 1

test.each(TABS.map((tab, i) => [tab.title, String(i + 1)] as const))(
  '%s, as a picture at 100 x 30, 80 x 24, 60 x 15 and 160 x 45',
  async (_title, key) => {
    for (const [columns, rows] of [
      [100, 30],
      [80, 24],
      [60, 15],
      [160, 45],
    ] as const) {
      const screen = await show({ columns, rows })
      screen.client.push({
        v: 1,
        id: 7,
        time: 0,
        type: 'eval',
        step: 50,
        version: 50,
        accuracy: 0.4,
        tasks: {},
        prompts: 9,
      })
      screen.client.push({
        v: 1,
        id: 8,
        time: 0,
        type: 'log',
        level: 'warn',
        area: 'swarm',
        message: 'mDNS is not available',
      })
      screen.client.push({ v: 1, id: 0, time: 0, type: 'snapshot', snapshot: screen.store.view().snapshot! })
      await until(() => screen.store.view().events.length === 2)
      await screen.press(key)
      if (key === '3') await until(() => screen.store.view().groups.length > 0)
      const text = (await screen.emulator.text()).map((row) =>
        row.replace(/\d\d:\d\d(:\d\d)?/g, (time) => 'hh:mm:ss'.slice(0, time.length)),
      )
      expect(text.join('\n')).toMatchSnapshot()
    }
  },
)

test('in ASCII mode not one character is beyond ASCII', async () => {
  for (const [columns, rows] of SIZES) {
    const { emulator } = await show({ columns, rows, ascii: true })
    expect((await emulator.text()).join('\n')).toMatch(/^[\x20-\x7e\n]*$/)
  }
})

test('without colour no colour code is written; with it the Okabe-Ito hues are', async () => {
  const plain = await show({ columns: 100, rows: 30 })
  await plain.emulator.text()
  expect(plain.emulator.raw()).not.toMatch(/\u001b\[(?:\d+;)*(?:3\d|4\d)(?:;\d+)*m/)
  const coloured = await show({ columns: 100, rows: 30, color: true })
  await coloured.emulator.text()
  expect(coloured.emulator.raw()).toContain('\u001b[38;5;75m')
})

test('no row flashes while numbers change', async () => {
  const node = createScriptedNode()
  node.advance(100)
  const screen = await show({ columns: 100, rows: 30, snapshot: node.snapshot })
  for (let i = 0; i < 40; i++) {
    node.advance(3)
    screen.client.push({ v: 1, id: 0, time: 0, type: 'snapshot', snapshot: node.snapshot() })
    await until(() => screen.store.view().snapshot?.training?.step === 103 + i * 3)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  expect(await screen.emulator.flashes()).toBe(0)
  expect((await screen.emulator.text())[0]).toContain('step 220')
})

test('nothing is written when nothing has changed', async () => {
  const screen = await show({ columns: 100, rows: 30 })
  const snapshot = screen.store.view().snapshot!
  await screen.emulator.text()
  const before = screen.emulator.raw().length
  screen.client.push({ v: 1, id: 0, time: 0, type: 'snapshot', snapshot })
  await new Promise((resolve) => setTimeout(resolve, 50))
  expect(screen.emulator.raw().length).toBe(before)
})

test('where the node does nothing there is one picture a second, and at once where it does something', async () => {
  let now = 0
  const screen = await show({ columns: 100, rows: 30, clock: () => now })
  const { store, client } = screen
  const snapshot = store.view().snapshot!
  const send = async (change: object, at: number): Promise<boolean> => {
    const before = store.view().snapshot
    now = at
    client.push({ v: 1, id: 0, time: at, type: 'snapshot', snapshot: { ...snapshot, ...change } })
    for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve))
    return store.view().snapshot !== before
  }
  const { training } = snapshot
  expect(await send({ machine: { rssBytes: 1 } }, 250)).toBe(false)
  expect(await send({ machine: { rssBytes: 2 } }, 1000)).toBe(true)
  expect(await send({ machine: { rssBytes: 3 } }, 1250)).toBe(false)
  expect(await send({ training: { ...training, step: 401 } }, 1500)).toBe(true)
  expect(await send({ phases: [{ name: 'train', seconds: 1, done: 7 }] }, 1750)).toBe(true)
  expect(await send({ state: 'PAUSED' }, 2000)).toBe(true)
})

test('a live resize leaves a whole picture at each size', async () => {
  const screen = await show({ columns: 100, rows: 30 })
  for (const [columns, rows] of [
    [80, 24],
    [60, 15],
    [120, 36],
    [100, 30],
    [39, 9],
    [80, 24],
  ] as const) {
    screen.resize(columns, rows)
    const isWhole = (text: string[]) =>
      text[0]!.includes('TRAINING') && (rows <= 10 || text[rows - 1]!.includes('q detach'))
    await until(async () => isWhole(await screen.emulator.text()))
    const text = await screen.emulator.text()
    expect(text.join('').split('TRAINING').length - 1).toBe(1)
  }
})

describe('when the daemon goes', () => {
  test('the last picture stays, marked LOST with its age, and comes back to life', async () => {
    let now = 1000
    let answers = true
    const node = createScriptedNode()
    node.advance(77)
    const screen = await show({ columns: 100, rows: 30, snapshot: node.snapshot, clock: () => now })
    screen.client.health = async () => {
      if (!answers) throw new Error('nobody there')
      return {
        v: 1,
        state: 'TRAINING',
        name: 'x',
        peerId: 'x',
        pid: 1,
        version: '0',
        run: 'r2',
        lastEvent: 0,
      }
    }
    answers = false
    screen.client.hangUp()
    await until(() => screen.store.view().contact === 'lost')
    now = 13_000
    await until(async () => (await screen.emulator.text())[0]!.includes('12 s'))
    const text = await screen.emulator.text()
    expect(text[0]).toMatch(/LOST +no contact for 12 s +bold-cricket, last seen at step 77/)
    expect(text.join('\n')).toContain('Learning')
    answers = true
    await screen.press('r')
    await until(async () => (await screen.emulator.text())[0]!.includes('TRAINING'))
  })
})

describe('keys', () => {
  test('q and Ctrl-C detach, Ctrl-Z suspends', async () => {
    const screen = await show({ columns: 80, rows: 24 })
    await screen.press('q')
    await screen.press('\u0003')
    await screen.press('\u001a')
    expect(screen.acted).toEqual(['detach', 'detach', 'suspend'])
  })

  test('pausing asks first, and only y means yes', async () => {
    const screen = await show({ columns: 100, rows: 30 })
    await screen.press('p')
    expect((await screen.emulator.text()).at(-1)).toContain('Pause training')
    await screen.press('n')
    expect(screen.acted).toEqual([])
    await screen.press('p')
    await screen.press('y')
    await until(() => screen.acted.length > 0)
    expect(screen.acted).toEqual(['pause'])
  })

  test('keys that arrive before a question is shown do not answer it', async () => {
    const screen = await show({ columns: 100, rows: 30 })
    await screen.press('py')
    expect((await screen.emulator.text()).at(-1)).toContain('Pause training')
    expect(screen.acted).toEqual([])
    await screen.press('y')
    await until(() => screen.acted.length > 0)
    expect(screen.acted).toEqual(['pause'])
  })

  test('a paste is no keys: it neither acts nor answers, and fills the line that is open', async () => {
    const screen = await show({ columns: 100, rows: 30 })
    const paste = (text: string) => screen.press(`\u001b[200~${text}\u001b[201~`)
    await paste('p')
    await paste('yq')
    expect((await screen.emulator.text()).at(-1)).toContain('pasted text is not taken as keys')
    await screen.press('p')
    await paste('y')
    expect((await screen.emulator.text()).at(-1)).toContain('Pause training')
    await screen.press('n')
    await screen.press(':')
    await paste('plug\u0007ins\rstop')
    expect((await screen.emulator.text()).at(-1)).toContain(':plugins_')
    expect(screen.acted).toEqual([])
  })

  test('many keys at once take no longer than one picture', async () => {
    const screen = await show({ columns: 100, rows: 30 })
    const before = screen.emulator.raw().split('?2026h').length
    await screen.press('/nothing there\r123456123456')
    expect((await screen.emulator.text()).join('\n')).toContain('[6 Logs]')
    expect(screen.emulator.raw().split('?2026h').length - before).toBeLessThan(6)
  })

  test.each([
    [80, 24],
    [60, 15],
  ])('a confirmation keeps its choice and the whole command at %i x %i', async (columns, rows) => {
    const screen = await show({ columns, rows })
    const id = `12D3KooW${'Q'.repeat(44)}`
    const given = `peers mute ${id} --on ssh://ada@box`
    const asked = async () => (await screen.emulator.text()).at(-1)!.includes('y yes  any other key: no')
    await screen.press(`:${given}\r`)
    await until(asked)
    const shown = await screen.emulator.text()
    expect(shown.join('').replaceAll(/[│\s]/g, '')).toContain(`waggle${given.replaceAll(' ', '')}`)
    await screen.press('n')
    expect((await screen.emulator.text()).join('\n')).not.toContain(id)
    await screen.press(`:${given}\r`)
    await until(asked)
    await screen.press('y')
    await until(() => screen.acted.length > 0)
    expect(screen.acted).toEqual([given])
  })

  test.each([
    [80, 24],
    [60, 15],
    [40, 10],
  ])('no hint of the bottom row is cut in two at %i x %i', async (columns, rows) => {
    const screen = await show({ columns, rows })
    for (const [i, { keys }] of TABS.entries()) {
      await screen.press(String(i + 1))
      const hints = (await screen.emulator.text()).at(-1)!.trim().split(/ {2,}/)
      const known = [...keys.split('  '), 'q detach', ': command', '? help', '1-6 tabs', 'live 250 ms']
      const title = `${i + 1} ${TABS[i]!.title}`
      expect(hints.filter((hint) => ![...known, title].includes(hint))).toEqual([])
    }
  })

  test('a command is typed, completed, and its words are shown', async () => {
    const said = ['NAME  STATE', 'evil \u001b]52;c;ZXZpbA==\u0007\u202ename  up']
    const screen = await show({ columns: 100, rows: 30, reply: () => ({ status: 0, lines: said }) })
    await screen.press(':')
    await screen.press('pe')
    await screen.press('\t')
    expect((await screen.emulator.text()).at(-1)).toContain(':peers _')
    await screen.press('\r')
    expect(screen.acted).toEqual(['peers'])
    await until(async () => (await screen.emulator.text()).join('\n').includes('NAME  STATE'))
    expect((await screen.emulator.text())[2]).toContain(':peers')
    expect(screen.emulator.raw()).not.toContain('\u001b]52')
    await screen.press('\u001b')
    expect((await screen.emulator.text()).join('\n')).toContain('Learning')
  })

  test('a whole line at once, as from a paste, is the same as its keys', async () => {
    const screen = await show({ columns: 100, rows: 30 })
    await screen.press(':plugins\r')
    await until(() => screen.acted.length === 1)
    expect(screen.acted).toEqual(['plugins'])
  })

  test('a command that changes the node is asked about, wherever it comes from', async () => {
    const screen = await show({ columns: 100, rows: 30 })
    await screen.press(':peers mute spry-elk\r')
    await until(async () => /waggle peers mute spry-elk/.test((await screen.emulator.text()).at(-1)!))
    await screen.press('n')
    expect(screen.acted).toEqual([])
    await screen.press('2')
    await screen.press('m')
    expect((await screen.emulator.text()).join('\n')).toContain(`peers mute ${OTHER}`)
    await screen.press('y')
    await until(() => screen.acted.length > 0)
    expect(screen.acted).toEqual([`peers mute ${OTHER}`])
  })

  test('a screen that may only look changes nothing', async () => {
    const screen = await show({ columns: 100, rows: 30, readOnly: true })
    await screen.press('p')
    expect((await screen.emulator.text()).at(-1)).toContain('read-only')
    await screen.press('y')
    expect(screen.acted).not.toContain('pause')
  })

  test('a command that fails says so, and a tab is reached by its name', async () => {
    const screen = await show({
      columns: 100,
      rows: 30,
      reply: () => ({ status: 2, lines: ['error: there is no command "x"'] }),
    })
    await screen.press(':x\r')
    await until(async () => /ended with status 2/.test((await screen.emulator.text()).at(-1)!))
    expect((await screen.emulator.text()).join('\n')).toContain('there is no command "x"')
    await screen.press('\u001b')
    await screen.press(':tab tr\r')
    await until(async () => (await screen.emulator.text())[1]!.includes('[4 Training]'))
  })

  test('the peer that the cursor is on is copied, and what is shown is written to a file', async () => {
    const screen = await show({ columns: 100, rows: 30 })
    await screen.press('2')
    await screen.press('c')
    await screen.press('e')
    await screen.press('4')
    await screen.press('e')
    await until(() => screen.acted.length === 3)
    expect(screen.acted).toEqual([
      `copy ${OTHER}`,
      'export swarm.txt picture',
      'export training.csv series,time,step,value',
    ])
    expect((await screen.emulator.text()).at(-1)).toContain('wrote /here/training.csv')
  })

  test('/ finds in the log and n goes on, & leaves only what fits', async () => {
    const screen = await show({ columns: 100, rows: 30 })
    for (const [id, message] of ['one apple', 'two pears', 'three apples', 'four plums'].entries())
      screen.client.push({ v: 1, id: id + 1, time: 0, type: 'log', level: 'info', area: 'a', message })
    screen.client.push({ v: 1, id: 0, time: 0, type: 'snapshot', snapshot: screen.store.view().snapshot! })
    await until(() => screen.store.view().events.length === 4)
    await screen.press('6')
    const cursor = async () => (await screen.emulator.text()).find((row) => row.includes('▸')) ?? ''
    await screen.press('/apple\r')
    await until(async () => (await cursor()).includes('three apples'))
    await screen.press('n')
    await until(async () => (await cursor()).includes('one apple'))
    await screen.press('N')
    await until(async () => (await cursor()).includes('three apples'))
    await screen.press('f')
    await screen.press('&pears\r')
    await until(async () => (await screen.emulator.text())[2]!.includes('only: pears'))
    const text = (await screen.emulator.text()).join('\n')
    expect(text).toContain('two pears')
    expect(text).not.toContain('three apples')
  })

  test('the wheel scrolls, a press chooses a tab and a row, and again opens it', async () => {
    const screen = await show({ columns: 100, rows: 30 })
    const mouse = (button: number, column: number, row: number) =>
      screen.press(`\u001b[<${button};${column + 1};${row + 1}M\u001b[<${button};${column + 1};${row + 1}m`)
    const at = (text: string[], what: string) => {
      const row = text.findIndex((line) => line.includes(what))
      return [text[row]!.indexOf(what), row] as const
    }
    await mouse(0, ...at(await screen.emulator.text(), '6 Logs'))
    expect((await screen.emulator.text())[1]).toContain('[6 Logs]')
    await mouse(0, ...at(await screen.emulator.text(), '5 Plugins'))
    const plugins = await screen.emulator.text()
    await mouse(0, ...at(plugins, 'NAME'))
    expect((await screen.emulator.text())[2]).toContain('sort: name')
    await mouse(0, ...at(await screen.emulator.text(), 'NAME'))
    expect((await screen.emulator.text())[2]).toContain('sort: name, reversed')
    const before = (await screen.emulator.text()).findIndex((row) => row.includes('▸'))
    await mouse(65, 5, 5)
    const after = (await screen.emulator.text()).findIndex((row) => row.includes('▸'))
    expect(after).toBeGreaterThan(before)
    await mouse(0, 5, before)
    expect((await screen.emulator.text()).findIndex((row) => row.includes('▸'))).toBe(before)
    await screen.press('2')
    await mouse(0, ...at(await screen.emulator.text(), 'spry-elk'))
    expect((await screen.emulator.text()).join('\n')).toContain(`id ${OTHER}`)
  })

  test('M gives the mouse back to the terminal, and takes it again', async () => {
    const screen = await show({ columns: 100, rows: 30 })
    await screen.press('M')
    expect((await screen.emulator.text()).at(-1)).toContain('mouse off')
    await screen.press('M')
    expect(screen.acted).toEqual(['mouse false', 'mouse true'])
  })

  test('the key of a column sorts by it, S turns it round', async () => {
    const screen = await show({ columns: 100, rows: 30 })
    await screen.press('2U')
    expect((await screen.emulator.text())[2]).toContain('sort: used')
    await screen.press('U')
    expect((await screen.emulator.text())[2]).toContain('sort: used, reversed')
    await screen.press('S')
    expect((await screen.emulator.text())[2]).not.toContain('reversed')
  })

  test('an expression that is wrong says so and hides nothing; ! inverts', async () => {
    const screen = await show({ columns: 100, rows: 30 })
    await screen.press('5/(')
    expect((await screen.emulator.text())[2]).toContain('not an expression')
    expect((await screen.emulator.text()).join('\n')).toContain('grpo')
    await screen.press('\u0015!grpo')
    expect((await screen.emulator.text()).join('\n')).not.toMatch(/ grpo /)
  })

  test('candidates stand above the line that is typed', async () => {
    const screen = await show({ columns: 100, rows: 30 })
    await screen.press(':p\t')
    expect((await screen.emulator.text()).slice(-2)).toEqual([' peers  pause  plugins', ' :p_'])
    await screen.press('e')
    expect((await screen.emulator.text()).at(-2)).toMatch(/^─+$/)
  })

  test('help scrolls, so that no key is out of reach', async () => {
    const screen = await show({ columns: 60, rows: 15 })
    await screen.press('?')
    expect((await screen.emulator.text()).join('\n')).toMatch(/more below/)
    await screen.press('G')
    const end = (await screen.emulator.text()).join('\n')
    expect(end).toContain('what is loaded')
    await screen.press('q')
    expect(screen.acted).toEqual([])
    expect((await screen.emulator.text()).join('\n')).toContain('held-out')
  })

  test('Space holds the picture still', async () => {
    const node = createScriptedNode()
    node.advance(5)
    const screen = await show({ columns: 100, rows: 30, snapshot: node.snapshot })
    await screen.press(' ')
    node.advance(5)
    screen.client.push({ v: 1, id: 0, time: 0, type: 'snapshot', snapshot: node.snapshot() })
    await until(() => screen.store.view().snapshot?.training?.step === 10)
    await new Promise((resolve) => setTimeout(resolve, 20))
    const text = await screen.emulator.text()
    expect(text[0]).toContain('step 5')
    expect(text.at(-1)).toContain('frozen')
  })

  test('help names every key, of tables and of lines too', async () => {
    const screen = await show({ columns: 100, rows: 90 })
    await screen.press('2?')
    const all = (await screen.emulator.text()).join('\n')
    for (const { shown, does } of KEYS) expect(all).toContain(`${shown.padEnd(10)} ${does}`)
    for (const { key, title } of TABS[1]!.columns!)
      if (key) expect(all).toContain(`${key} ${title.toLowerCase()}`)
    for (const [keys] of TYPING_KEYS) expect(all).toContain(keys)
  })

  test('? explains every key', async () => {
    const screen = await show({ columns: 100, rows: 30 })
    await screen.press('?')
    const all = (await screen.emulator.text()).join('\n')
    for (const word of ['Overview', 'next tab', 'freeze the screen', 'leave; the daemon keeps running'])
      expect(all).toContain(word)
    await screen.press('\u001b')
    expect((await screen.emulator.text()).join('\n')).toContain('Learning')
  })
})

const THREE = ['basic_arithmetic 14 %', 'base_conversion 15 %', 'fraction_simplification 36 %']

test.each([
  [80, 24],
  [110, 32],
  [160, 48],
])('at %i x %i the overview shows the accuracy of each of three tasks', async (columns, rows) => {
  const snapshot = createScriptedNode().snapshot()
  const tasks = { basic_arithmetic: 0.14, base_conversion: 0.15, fraction_simplification: 0.36 }
  const evaluations = snapshot.evaluations!.map((one) => ({ ...one, tasks }))
  const { emulator } = await show({ columns, rows, snapshot: () => ({ ...snapshot, evaluations }) })
  const text = (await emulator.text()).join('\n')
  for (const one of THREE) expect(text).toContain(one)
})

test('what to do about a thing that needs attention is shown whole where there is room', async () => {
  const snapshot = createScriptedNode().snapshot()
  const training = { ...snapshot.training!, mismatchKl: 0.1 }
  const { emulator } = await show({ columns: 110, rows: 32, snapshot: () => ({ ...snapshot, training }) })
  const text = (await emulator.text()).join('\n')
  expect(text).toMatch(/staleness, or *│\n.* halve the learning rate *│/)
})

test.each([
  [80, 24],
  [110, 32],
])('at %i x %i a group is shown with its level and every method', async (columns, rows) => {
  const screen = await show({ columns, rows })
  await screen.press('3')
  const text = (await screen.emulator.text()).join('\n')
  expect(text).toMatch(/ level \d/)
  const { plugins = [] } = createScriptedNode().snapshot()
  for (const { kind, name } of plugins)
    if (kind === 'estimator' || kind === 'correction') expect(text).toContain(name)
})
