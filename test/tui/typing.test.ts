import { expect, test } from 'vitest'
import { changesNode } from '../../tui/commands.ts'
import { completed, type Line, openLine, typeKey } from '../../tui/typing.ts'

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
    if (next.state === 'done') return `done ${at.text}`
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

test('Tab completes as far as it is certain', () => {
  expect(completed('pe', COMMANDS)).toBe('peers ')
  expect(completed('p', COMMANDS)).toBe('p')
  expect(completed('pl', COMMANDS)).toBe('plu')
  expect(completed('x', COMMANDS)).toBe('x')
  expect(completed('peers mu', COMMANDS)).toBe('peers mu')
})

test('Tab completes the keys that set takes', () => {
  expect(completed('set ', COMMANDS)).toBe('set ')
  expect(completed('set tr', COMMANDS)).toBe('set training.')
  expect(completed('set training.l', COMMANDS)).toBe('set training.learning_rate=')
  expect(completed('set training.batch_groups=4 ev', COMMANDS)).toBe(
    'set training.batch_groups=4 eval.every_seconds=',
  )
})

test('the arrows go through what was given before', () => {
  expect(typed(openLine('command'), 'upArrow')).toMatchObject({ text: 'set a=1' })
  expect(typed(openLine('command'), 'upArrow', 'upArrow', 'upArrow')).toMatchObject({ text: 'peers' })
  expect(typed(openLine('command'), 'upArrow', 'downArrow')).toMatchObject({ text: '' })
})

test('a line is bounded', () => {
  const long = typeKey(openLine('command'), { name: 'x', text: 'x'.repeat(9999) }, PARTS)
  expect(long).toMatchObject({ line: { text: 'x'.repeat(400) } })
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
