import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { COMMANDS } from '../../daemon/cli/table.ts'
import { ERROR_CODES } from '../../protocol/errors.ts'
import { freshHome, removeHomes, waggle } from './run-cli.ts'

afterAll(removeHomes)

describe('help', () => {
  test('without a command lists all of them', async () => {
    const { status, stdout } = await waggle([])
    expect(status).toBe(0)
    for (const { name, summary } of COMMANDS) expect(stdout).toContain(`  ${name.padEnd(13)} ${summary}`)
  })

  test.each(COMMANDS.map((command) => [command.name, command] as const))(
    '%s is explained with all that it takes, and its flag --help says the same',
    async (name, { summary, arguments: words = [], options = [], examples = [] }) => {
      const page = await waggle(['help', name])
      expect(page.status).toBe(0)
      const explained = [summary.slice(1), ...words, ...options, ...examples.map(([command]) => command)]
      for (const one of explained) expect(page.stdout).toContain(typeof one === 'string' ? one : one.name)
      if (name !== 'help') expect((await waggle([name, '--help'])).stdout).toBe(page.stdout)
      for (const line of page.stdout.split('\n').slice(0, 12)) expect(line.length).toBeLessThanOrEqual(130)
    },
  )

  test.each(Object.keys(ERROR_CODES))('%s is explained', async (code) => {
    expect((await waggle(['help', code])).stdout).toContain(`${code}: `)
  })

  test('exit statuses and variables are explained', async () => {
    expect((await waggle(['help', 'exit'])).stdout).toMatch(/^ {2}3 {2}no daemon is running on this home$/m)
    expect((await waggle(['help', 'environment'])).stdout).toContain('WAGGLE_HOME')
  })
})

describe('a command line that cannot be understood ends with 2 and says what to do', () => {
  test.each([
    [['stauts'], 'there is no command "stauts". Did you mean "status"?'],
    [['up', '--nmae', 'x'], 'there is no option --nmae. Did you mean "--name"?'],
    [['--jsno', 'status'], 'there is no option --jsno. Did you mean "--json"?'],
    [['up', '--home'], '--home needs a value: --home DIR'],
    [['up', '--home', '--quiet'], '--home needs a value: --home DIR'],
    [['status', '--json=yes'], '--json takes no value'],
    [['status', 'now'], 'status takes no argument "now"'],
    [['join'], 'join needs a target'],
    [['join', 'somebody'], '"somebody" is not a peer ID, a peer\'s name, a multiaddr or an invite'],
    [['config', 'chek'], 'action must be one of show, check, path, not "chek". Did you mean "check"?'],
    [['config', 'show', '--set', 'x'], '--set needs KEY=VALUE, not "x"'],
    [['eval', '--prompts', '-3'], '--prompts must be a whole number'],
    [['help', 'E_PEAR'], 'Did you mean "E_PEER"?'],
    [['top'], 'this is not a terminal'],
  ])('%j', async (argv, message) => {
    const { status, stdout, stderr } = await waggle(argv)
    expect(status).toBe(2)
    expect(stdout).toBe('')
    expect(stderr).toContain(`error: `)
    expect(stderr).toContain(message)
    expect(stderr).toMatch(/^ {2}E_USAGE/m)
    expect(stderr).not.toMatch(/\n {4}at /)
  })
})

test('with --json errors are JSON, too', async () => {
  const { status, stderr } = await waggle(['status', '--json', '--home', freshHome()])
  expect(status).toBe(3)
  expect(JSON.parse(stderr)).toMatchObject({
    v: 1,
    error: { code: 'E_NOT_RUNNING', hint: expect.stringContaining('waggle up') },
  })
})

test('with WAGGLE_JSON errors are JSON, too', async () => {
  const env = { WAGGLE_JSON: '1' }
  const { stderr } = await waggle(['status', '--home', freshHome()], { env })
  expect(JSON.parse(stderr)).toMatchObject({ v: 1, error: { code: 'E_NOT_RUNNING' } })
})

test('with --json a failure that nobody expected is JSON, too', async () => {
  const { status, stderr } = await waggle(['up', '--json', '--home', freshHome()], {
    runNode: () => Promise.reject(new TypeError('it broke')),
  })
  expect(status).toBe(1)
  expect(JSON.parse(stderr.trim().split('\n').at(-1)!)).toMatchObject({
    v: 1,
    error: {
      code: 'E_UNEXPECTED',
      message: 'unexpected failure: it broke',
      hint: expect.stringContaining('This is a bug'),
      stack: expect.stringContaining('usage.test.ts'),
    },
  })
})

test.each(['status', 'peers', 'eval', 'stop', 'pause', 'resume', 'leave', 'checkpoint'])(
  '%s without a daemon ends with 3 and says how to start one',
  async (name) => {
    const { status, stderr } = await waggle([name, '--home', freshHome()])
    expect(status).toBe(3)
    expect(stderr).toContain('no daemon is running')
    expect(stderr).toContain('waggle up')
  },
)

describe('config', () => {
  test('check tells every mistake and ends with 4', async () => {
    const home = freshHome()
    writeFileSync(join(home, 'config.toml'), '[training]\nlerning_rate = 1\n[engine]\ndevice = 3\n')
    const { status, stderr } = await waggle(['config', 'check', '--home', home])
    expect(status).toBe(4)
    expect(stderr).toContain('config.toml:2  training.lerning_rate')
    expect(stderr).toContain('config.toml:4  engine.device')
    expect((await waggle(['up', '--home', home])).status).toBe(4)
  })

  test('a config file that is a folder is one clear message', async () => {
    const home = freshHome()
    mkdirSync(join(home, 'config.toml'))
    const { status, stderr } = await waggle(['up', '--home', home])
    expect(status).toBe(4)
    expect(stderr).toContain('cannot read')
  })

  test('show --origin says where values come from', async () => {
    const home = freshHome()
    writeFileSync(join(home, 'config.toml'), '[training]\nbatch_groups = 2\n')
    const { stdout } = await waggle(['config', 'show', '--origin', '--home', home, '--name', 'bob'], {
      env: { WAGGLE_ENGINE_THREADS: '3' },
    })
    expect(stdout).toMatch(/^training\.batch_groups = 2 +# config\.toml:2$/m)
    expect(stdout).toMatch(/^node\.name = "bob" +# --name$/m)
    expect(stdout).toMatch(/^engine\.threads = 3 +# WAGGLE_ENGINE_THREADS$/m)
    expect(stdout).toMatch(/^checkpoint\.keep = 3 +# default$/m)
  })

  test('show prints a config file that reads back to the same', async () => {
    const home = freshHome()
    const first = await waggle(['config', 'show', '--home', home])
    writeFileSync(join(home, 'config.toml'), first.stdout)
    expect((await waggle(['config', 'show', '--home', home])).stdout).toBe(first.stdout)
    expect((await waggle(['config', 'check', '--home', home])).status).toBe(0)
  })

  test('options have environment twins, and win over them', async () => {
    const home = freshHome()
    const env = { WAGGLE_HOME: home, WAGGLE_JSON: '1', WAGGLE_NAME: 'env' }
    const shown = JSON.parse((await waggle(['config', 'show'], { env })).stdout)
    expect(shown.config.node.name).toBe('env')
    expect(JSON.parse((await waggle(['config', 'path'], { env })).stdout).home).toBe(home)
    expect(
      JSON.parse((await waggle(['config', 'show', '--name', 'flag'], { env })).stdout).config.node.name,
    ).toBe('flag')
  })
})
