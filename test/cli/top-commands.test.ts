import { writeFileSync } from 'node:fs'
import { afterAll, expect, test } from 'vitest'
import type { Context } from '../../daemon/cli/contract.ts'
import { screenSettings } from '../../daemon/cli/load-config.ts'
import { COMMANDS } from '../../daemon/cli/table.ts'
import { runTopCommand, topCommands, wordsOf } from '../../daemon/cli/top-commands.ts'
import { changesNode } from '../../tui/commands.ts'
import { contextFor, freshHome, removeHomes } from './run-cli.ts'

afterAll(removeHomes)

const context = (options: Record<string, string> = {}): Context =>
  contextFor({ home: freshHome(), ...options })

test('a line is split as a shell splits it, and nothing is expanded', () => {
  expect(wordsOf(`set a="b c" 'd e' $HOME`)).toEqual(['set', 'a=b c', 'd e', '$HOME'])
  expect(wordsOf('logs --filter "two words"')).toEqual(['logs', '--filter', 'two words'])
})

test('a command runs here, with the same home, and its words come back', async () => {
  const here = context()
  expect(await runTopCommand('config path', here)).toEqual({ status: 0, lines: [here.paths.config] })
  const none = await runTopCommand('status', here)
  expect([none.status, none.lines[0]]).toEqual([3, expect.stringContaining('no daemon is running')])
})

test('what would never end or takes the terminal is refused', async () => {
  for (const line of ['up', 'top', 'logs -f', 'status --watch', 'restart --detach'])
    await expect(runTopCommand(line, context()).then(({ status }) => status)).resolves.toBe(2)
})

test('for a daemon elsewhere only commands that ask it are offered', () => {
  const names = topCommands({ commands: COMMANDS, on: 'ssh://box' }).map(({ name }) => name)
  expect(names).toContain('peers')
  expect(names).not.toContain('doctor')
  expect(topCommands({ commands: COMMANDS, on: undefined }).length).toBeGreaterThan(names.length)
})

test('every command that changes the node is marked, so that the screen asks', () => {
  const steering = COMMANDS.filter(({ changes }) => changes).map(({ name }) => name)
  expect(steering).toEqual(
    expect.arrayContaining(['stop', 'pause', 'resume', 'leave', 'join', 'set', 'reload', 'peers']),
  )
})

test('whoever looks at checkpoints on the screen is not asked whether to go on', () => {
  const commands = topCommands({ commands: COMMANDS, on: undefined }).map((command) => ({
    ...{ name: command.name, summary: '', changes: command.changes ?? false },
  }))
  const asked = [
    'checkpoint',
    'checkpoint save',
    'checkpoint restore 5',
    'checkpoint list',
    'checkpoint diff',
  ]
  expect(asked.filter((line) => changesNode(line, commands))).toEqual(asked.slice(0, 3))
})

test('a config with mistakes keeps nobody from watching: the screen has its defaults', () => {
  const here = context()
  writeFileSync(here.paths.config, '[screen]\ntheme = "light"\n')
  expect(screenSettings(here)).toEqual({ theme: 'light', mouse: true })
  writeFileSync(here.paths.config, '[screen]\ntheme = "light"\n[training]\nbatch_gruops = 3\n')
  expect(screenSettings(here)).toEqual({ theme: 'default', mouse: true })
})
