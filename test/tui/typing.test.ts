import { expect, test } from 'vitest'
import { changesNode } from '../../tui/commands.ts'
import { completed, type Line, lineRow, openLine, textOf, typeKey } from '../../tui/typing.ts'

const COMMANDS = [
  ...['peers', 'pause', 'plugins', 'pluck'].map((name) => ({ name })),
  { name: 'set', completes: ['training.learning_rate=', 'training.batch_groups=', 'eval.every_seconds='] },
]
const PARTS = { history: ['peers', 'set a=1'], commands: COMMANDS }
const key = (name: string, text = name.length === 1 ? name : '') => ({ name, text })

function typed(line: Line, ...names: string[]): Line | string {
  let at = line
  for (const name of names) {
    const next = typeKey(at, key(name), PARTS)
    if (next.state === 'given up') return next.state
    at = next.line
    if (next.state === 'done') return `done ${textOf(at)}`
  }
  return at
}

test('characters are added, taken away, and done with Enter', () => {
  expect(typed(openLine('command'), 'a', 'b', 'backspace', 'c', 'return')).toBe('done ac')
  expect(typed(openLine('search', 'two words'), 'ctrl-w', 'return')).toBe('done two ')
  expect(typed(openLine('search', 'two words'), 'ctrl-u', 'x', 'return')).toBe('done x')
})

test('Escape gives up, and so does taking away from nothing', () => {
  expect(typed(openLine('command', 'abc'), 'escape')).toBe('given up')
  expect(typed(openLine('filter'), 'backspace')).toBe('given up')
})

test('Tab completes as far as it is certain, and has candidates where it is not', () => {
  expect(completed('pe', COMMANDS)).toEqual({ text: 'peers ', candidates: [] })
  expect(completed('p', COMMANDS)).toEqual({ text: 'p', candidates: ['peers', 'pause', 'plugins', 'pluck'] })
  expect(completed('pl', COMMANDS)).toEqual({ text: 'plu', candidates: ['plugins', 'pluck'] })
  expect(completed('x', COMMANDS)).toEqual({ text: 'x', candidates: [] })
  expect(completed('peers mu', COMMANDS)).toEqual({ text: 'peers mu', candidates: [] })
})

test('Tab completes the keys that set takes', () => {
  expect(completed('set ', COMMANDS).candidates).toHaveLength(3)
  expect(completed('set tr', COMMANDS).text).toBe('set training.')
  expect(completed('set training.l', COMMANDS).text).toBe('set training.learning_rate=')
  expect(completed('set training.batch_groups=4 ev', COMMANDS).text).toBe(
    'set training.batch_groups=4 eval.every_seconds=',
  )
})

test('Tab completes before the cursor, and candidates go with the next key', () => {
  const middle = { ...openLine('command'), before: 'pl', after: ' x' }
  expect(typed(middle, 'tab')).toMatchObject({ before: 'plu', after: ' x', candidates: ['plugins', 'pluck'] })
  expect(typed(middle, 'tab', 'g')).toMatchObject({ before: 'plug', after: ' x', candidates: [] })
})

const CURSOR = { ...openLine('command'), before: 'set one', after: ' two' }

test.each([
  [['leftArrow'], 'set on', 'e two'],
  [['rightArrow', 'rightArrow'], 'set one t', 'wo'],
  [['ctrl-a', 'x'], 'x', 'set one two'],
  [['home', 'leftArrow', 'ctrl-f'], 's', 'et one two'],
  [['ctrl-e', 'rightArrow'], 'set one two', ''],
  [['end', 'ctrl-b'], 'set one tw', 'o'],
  [['ctrl-u'], '', ' two'],
  [['ctrl-k'], 'set one', ''],
  [['ctrl-w'], 'set ', ' two'],
  [['alt-backspace', 'ctrl-w'], '', ' two'],
  [['ctrl-leftArrow', 'alt-b'], '', 'set one two'],
  [['alt-f'], 'set one two', ''],
  [['delete', 'ctrl-d'], 'set one', 'wo'],
  [['backspace'], 'set on', ' two'],
])('the cursor: %j', (keys, before, after) => {
  expect(typed(CURSOR, ...keys)).toMatchObject({ before, after })
})

test('a character of two code units is one for the cursor', () => {
  expect(typed({ ...openLine('search'), before: 'a😀' }, 'leftArrow', 'leftArrow', 'delete')).toMatchObject({
    before: '',
    after: '😀',
  })
})

test('the cursor is seen in a line of any length', () => {
  const seen = (line: Line) =>
    [lineRow(line, 20)]
      .flat(2)
      .filter((part) => !['bold', 'inverse'].includes(part as string))
      .join('')
  expect(seen(openLine('command', 'peers'))).toBe(' :peers_')
  expect(seen({ ...openLine('filter'), before: 'ab', after: 'cd' })).toBe(' &abcd')
  const long = seen({ ...openLine('filter'), before: 'x'.repeat(99), after: 'yz'.repeat(50) })
  expect(long.length).toBeLessThanOrEqual(20)
  expect(long).toMatch(/x+y/)
})

test('the arrows go through what was given before', () => {
  expect(typed(openLine('command'), 'upArrow')).toMatchObject({ before: 'set a=1' })
  expect(typed(openLine('command'), 'upArrow', 'upArrow', 'upArrow')).toMatchObject({ before: 'peers' })
  expect(typed(openLine('command'), 'upArrow', 'downArrow')).toMatchObject({ before: '' })
})

test('a line is bounded', () => {
  const long = typeKey(openLine('command'), { name: 'x', text: 'x'.repeat(9999) }, PARTS)
  expect(long).toMatchObject({ line: { before: 'x'.repeat(400) } })
})

test('a command may change the node with other words than those that only look', () => {
  const commands = [{ name: 'checkpoint', summary: '', changes: ['', 'restore'] }]
  const changing = ['checkpoint', 'checkpoint --json', 'checkpoint restore 5', 'checkpoint --json restore 5']
  expect(changing.filter((line) => changesNode(line, commands))).toEqual(changing)
  expect(['checkpoint list', 'checkpoint diff 5'].some((line) => changesNode(line, commands))).toBe(false)
})

test('what changes the node is known by its name or its first argument', () => {
  const commands = [
    { name: 'stop', summary: '', changes: true },
    { name: 'peers', summary: '', changes: ['mute'] },
    { name: 'status', summary: '', changes: false },
  ]
  expect(['stop', 'stop --no-checkpoint', 'peers mute x'].every((line) => changesNode(line, commands))).toBe(
    true,
  )
  expect(['status', 'peers', 'peers list', 'nonsense', ''].some((line) => changesNode(line, commands))).toBe(
    false,
  )
})
