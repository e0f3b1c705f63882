// Files for running Waggle as a service, checked as far as this machine allows.

import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { reservedVariables } from '../../daemon/cli/context.ts'
import { parseCommandLine } from '../../daemon/cli/parse.ts'
import { COMMANDS } from '../../daemon/cli/table.ts'
import { configKeys } from '../../daemon/config/keys.ts'
import { resolvePaths } from '../../daemon/config/paths.ts'
import { EXIT } from '../../protocol/errors.ts'

const FOLDER = resolve(import.meta.dirname, '../../scripts/service')
const read = (name: string): string => readFileSync(join(FOLDER, name), 'utf8')
const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0

describe.each(['waggle.service', 'waggle-user.service'])('%s', (name) => {
  const unit = read(name)

  test('starts a command that exists, and does not start again what cannot work', () => {
    const line = /^ExecStart=\/usr\/bin\/env waggle (.+)$/m.exec(unit)![1]!
    expect(parseCommandLine(line.split(' '), {}, COMMANDS).command.name).toBe('up')
    expect(/^RestartPreventExitStatus=(.+)$/m.exec(unit)![1]).toBe(
      `${EXIT.usage} ${EXIT.config} ${EXIT.swarmRules}`,
    )
  })

  test.skipIf(!hasSystemd || name.includes('user'))('is accepted by systemd', () => {
    const { stdout, stderr } = spawnSync('systemd-analyze', ['verify', join(FOLDER, name)], {
      encoding: 'utf8',
    })
    expect((stdout + stderr).split('\n').filter((row) => row.includes(name))).toEqual([])
  })
})

test('the system unit hands out the directories that the program uses', () => {
  const unit = read('waggle.service')
  const env = {
    STATE_DIRECTORY: '/var/lib/waggle',
    RUNTIME_DIRECTORY: '/run/waggle',
    CONFIGURATION_DIRECTORY: '/etc/waggle',
    LOGS_DIRECTORY: '/var/log/waggle',
  }
  for (const key of ['StateDirectory', 'RuntimeDirectory', 'LogsDirectory', 'ConfigurationDirectory'])
    expect(unit).toMatch(new RegExp(`^${key}=waggle$`, 'm'))
  const paths = resolvePaths(
    {},
    { env, cwd: '/', homedir: '/nonexistent', tmpdir: '/tmp', uid: 1, platform: 'linux' },
  )
  expect(paths).toMatchObject({
    state: '/var/lib/waggle',
    socket: '/run/waggle/control.sock',
    config: '/etc/waggle/config.toml',
    logs: '/var/log/waggle',
  })
  expect(unit).toContain('unix:///run/waggle/control.sock')
})

test('macOS and Windows start the same command', () => {
  const words = [...read('waggle.plist').matchAll(/<string>(.*)<\/string>/g)].map(([, word]) => word!)
  expect(words.slice(1, 6)).toEqual(['/usr/bin/env', 'waggle', 'up', '--log-format', 'json'])
  expect(read('waggle-task.xml')).toContain('waggle up --log-format json</Arguments>')
})

describe('containers', () => {
  const known = new Set([...configKeys().map(({ env }) => env), ...reservedVariables(COMMANDS)])

  test.each(['Dockerfile', 'compose.yaml', 'kubernetes.yaml'])(
    '%s sets only variables that mean something',
    (name) => {
      const used = [...read(name).matchAll(/\bWAGGLE_[A-Z_]+/g)].map(([variable]) => variable)
      expect(used.length).toBeGreaterThan(0)
      expect(used.filter((variable) => !known.has(variable))).toEqual([])
    },
  )

  test('the image runs as a user of its own, with a health check that is a command', () => {
    const file = read('Dockerfile')
    expect(file).toMatch(/^USER waggle$/m)
    const words = JSON.parse(/HEALTHCHECK .* CMD (\[.+\])/.exec(file)![1]!) as string[]
    expect(parseCommandLine(words.slice(1), {}, COMMANDS).command.name).toBe('status')
    const command = JSON.parse(/^CMD (\[.+\])$/m.exec(file)![1]!) as string[]
    expect(parseCommandLine(command, {}, COMMANDS).command.name).toBe('up')
  })

  test.each(['compose.yaml', 'kubernetes.yaml'])('%s calls commands that exist', (name) => {
    const lines = [...read(name).matchAll(/(?:exec|^ +) ?waggle ([a-z][^;&<>\n]*)/gm)].map(
      ([, line]) => line!,
    )
    const relay = JSON.parse(/(\["relay".*\])/.exec(read(name))![1]!) as string[]
    expect(lines.length).toBeGreaterThan(1)
    for (const words of [relay, ...lines.map((line) => line.trim().split(/ +/))])
      expect(() => parseCommandLine(words, {}, COMMANDS), words.join(' ')).not.toThrow()
  })

  test('what compose and the image mount is there', () => {
    const compose = read('compose.yaml')
    for (const [, path] of compose.matchAll(/- (\.\/[^:]+):/g))
      expect(existsSync(join(FOLDER, path!)), path).toBe(true)
    for (const [, path] of read('Dockerfile').matchAll(/--from=build \/app\/(\S+)/g)) {
      if (path !== 'dist' && path !== 'node_modules')
        expect(existsSync(join(FOLDER, '../..', path!)), path).toBe(true)
    }
  })

  test('Prometheus asks where the node listens, with the token that it makes', () => {
    const port = /WAGGLE_CONTROL_LISTEN: 0\.0\.0\.0:(\d+)/.exec(read('compose.yaml'))![1]
    const prometheus = read('prometheus/prometheus.yml')
    const home = /WAGGLE_HOME=(\S+)/.exec(read('Dockerfile'))![1]!
    for (const node of ['first', 'second', 'third']) {
      expect(prometheus).toContain(`${node}:${port}`)
      expect(read('compose.yaml')).toContain(`- ${node}:/nodes/${node}:ro`)
      expect(read('compose.yaml')).toContain(`"${node}:${home}"`)
      const { readToken } = resolvePaths(
        { home: `/nodes/${node}` },
        { env: {}, cwd: '/', homedir: '/', tmpdir: '/tmp', uid: 1, platform: 'linux' },
      )
      expect(prometheus).toContain(readToken)
    }
  })
})
