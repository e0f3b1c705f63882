import { expect, test } from 'vitest'
import { type PathsEnvironment, resolvePaths } from '../../daemon/config/paths.ts'
import { traitsOf } from '../../daemon/platform/index.ts'

const at: PathsEnvironment = {
  env: {},
  cwd: '/srv',
  homedir: '/home/ada',
  tmpdir: '/tmp',
  uid: 1000,
  platform: 'linux',
}

test('a home holds everything', () => {
  const { home, ...rest } = resolvePaths({ home: 'n1' }, at)
  expect(home).toBe('/srv/n1')
  for (const path of Object.values(rest)) expect(path).toMatch(/^\/srv\/n1(\/|$)/)
})

test('without a home the XDG directories are used, relative ones ignored', () => {
  const env = { XDG_CONFIG_HOME: '/c', XDG_STATE_HOME: 'relative', XDG_RUNTIME_DIR: '/run/user/1000' }
  const paths = resolvePaths({}, { ...at, env })
  expect(paths.config).toBe('/c/waggle/config.toml')
  expect(paths.state).toBe('/home/ada/.local/state/waggle')
  expect(paths.socket).toBe('/run/user/1000/waggle/control.sock')
})

test('directories that systemd hands out are used', () => {
  const env = {
    STATE_DIRECTORY: '/var/lib/waggle',
    RUNTIME_DIRECTORY: '/run/waggle:/run/other',
    CONFIGURATION_DIRECTORY: '/etc/waggle',
  }
  const paths = resolvePaths({}, { ...at, env })
  expect([paths.state, paths.socket, paths.config]).toEqual([
    '/var/lib/waggle',
    '/run/waggle/control.sock',
    '/etc/waggle/config.toml',
  ])
})

test('a socket path that is too long moves to a short place, its own for each home', () => {
  const deep = (name: string) => `/${'very-long-folder/'.repeat(8)}${name}`
  const a = resolvePaths({ home: deep('a') }, at).socket
  const b = resolvePaths({ home: deep('b') }, at).socket
  expect(a).toMatch(/^\/tmp\/waggle-1000\/[0-9a-f]{16}\.sock$/)
  expect(a).not.toBe(b)
  expect(
    resolvePaths({ home: deep('a') }, { ...at, env: { XDG_RUNTIME_DIR: '/run/user/1000' } }).socket,
  ).toMatch(/^\/run\/user\/1000\/waggle\//)
  expect(a.length).toBeLessThanOrEqual(traitsOf('darwin').socketPathBytes)
})
