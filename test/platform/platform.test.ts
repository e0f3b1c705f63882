import { execFileSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { resolvePaths } from '../../daemon/config/paths.ts'
import { listenOwnerOnly } from '../../daemon/control/api/socket.ts'
import {
  checkSupported,
  isOpenToOthers,
  LEAN_MALLOC,
  leanFlags,
  leanStart,
  SCREEN_FLAGS,
  syncFolder,
  thisSystem,
  traitsOf,
  xdgFolder,
} from '../../daemon/platform/index.ts'
import { SUPPORTED } from '../../daemon/platform/support.ts'

const [linux, mac, windows] = ['linux', 'darwin', 'win32'].map(traitsOf) as [
  ReturnType<typeof traitsOf>,
  ReturnType<typeof traitsOf>,
  ReturnType<typeof traitsOf>,
]
const at = { env: {}, cwd: '/', homedir: '/home/ada', tmpdir: '/tmp', uid: 1000 }

test('what Node.js has compiled is kept in a folder of the user, not in the one for temporary files', () => {
  const folder = (env: Record<string, string>) =>
    xdgFolder({ env, homedir: '/home/ada' }, 'XDG_CACHE_HOME', '.cache')
  expect(folder({})).toBe('/home/ada/.cache/waggle')
  expect(folder({ XDG_CACHE_HOME: '/var/cache' })).toBe('/var/cache/waggle')
  expect(folder({ XDG_CACHE_HOME: 'relative' })).toBe('/home/ada/.cache/waggle')
})

test('on Windows the control socket is a pipe of its own for each home', () => {
  const pipe = (home?: string) => resolvePaths({ home }, { ...at, platform: 'win32' }).socket
  expect(pipe()).toMatch(/^\\\\\.\\pipe\\waggle-[0-9a-f]{16}$/)
  expect(pipe('/a')).not.toBe(pipe('/b'))
  expect(resolvePaths({ home: '/a' }, { ...at, platform: 'darwin' }).socket).toBe('/a/control.sock')
})

test('a pipe is listened on without touching folders, modes or what is left of a dead daemon', async () => {
  const server = createServer()
  // An abstract socket of Linux is no file either.
  const path = `\0waggle-test-${process.pid}`
  if (process.platform === 'linux') await listenOwnerOnly(server, path, windows)
  expect(server.listening).toBe(process.platform === 'linux')
  server.close()
  await expect(listenOwnerOnly(createServer(), `/${'x'.repeat(300)}`, windows)).rejects.toThrow(/256 bytes/)
  await expect(listenOwnerOnly(createServer(), `/${'x'.repeat(105)}`, mac)).rejects.toThrow(/103 bytes/)
})

test('modes count where files have them', () => {
  expect([linux, mac, windows].map((traits) => isOpenToOthers(0o100644, traits))).toEqual([true, true, false])
  expect(isOpenToOthers(0o100600, linux)).toBe(false)
})

test('folders are synced where they can be opened', async () => {
  await syncFolder(tmpdir(), linux)
  await syncFolder('/nonexistent', windows)
  await expect(syncFolder('/nonexistent', mac)).rejects.toThrow(/ENOENT/)
})

test('systems with binaries of ONNX Runtime are supported, and no others', () => {
  const bin = fileURLToPath(new URL('../../node_modules/onnxruntime-node/bin/napi-v6', import.meta.url))
  const found = readdirSync(bin).flatMap((platform) =>
    readdirSync(`${bin}/${platform}`).map((arch) => `${platform}-${arch}`),
  )
  expect(found.sort()).toEqual([...SUPPORTED].sort())
  for (const name of SUPPORTED) {
    const [platform = '', arch = ''] = name.split('-')
    checkSupported({ platform, arch, glibc: platform === 'linux' ? '2.36' : undefined })
  }
})

test('a system on which no node can train is refused, with what to do', () => {
  const refusal = (system: Parameters<typeof checkSupported>[0]) => {
    try {
      checkSupported(system)
    } catch (error) {
      return error
    }
    return undefined
  }
  expect(refusal({ platform: 'linux', arch: 'arm', glibc: '2.36' })).toMatchObject({
    code: 'E_ENGINE',
    message: expect.stringContaining('linux-arm:'),
    hint: expect.stringContaining('64-bit system'),
  })
  expect(refusal({ platform: 'linux', arch: 'x64', glibc: undefined })).toMatchObject({
    code: 'E_ENGINE',
    message: expect.stringContaining('musl'),
    hint: expect.stringContaining('node:24-bookworm-slim'),
  })
  expect(refusal({ platform: 'darwin', arch: 'x64', glibc: undefined })).toMatchObject({ code: 'E_ENGINE' })
  expect(refusal(thisSystem())).toBeUndefined()
})

test('a node starts again once, with settings for little memory, and keeps what it was started with', () => {
  const start = {
    platform: 'linux',
    env: { HOME: '/home/ada', MALLOC_TRIM_THRESHOLD_: '4' },
    execArgv: ['--import', 'tsx'],
    argv: ['/bin/node', 'waggle.ts', 'up'],
    versions: process.versions,
  }
  const lean = leanStart(start)!
  expect(lean.argv).toEqual([
    '/bin/node',
    ...leanFlags(process.versions.node),
    '--import',
    'tsx',
    'waggle.ts',
    'up',
  ])
  expect(lean.env).toEqual({ ...LEAN_MALLOC, ...start.env })
  expect(leanStart({ ...start, env: lean.env })).toBeUndefined()
  expect(leanStart({ ...start, platform: 'darwin' })).toBeUndefined()
  expect(leanStart({ ...start, argv: ['/bin/node', 'waggle.ts', 'status'] })).toBeUndefined()
  expect(leanStart({ ...start, env: { NODE_CHANNEL_FD: '3' } })).toBeUndefined()
})

test('this Node.js starts with the settings of a node', () => {
  execFileSync(process.execPath, [...leanFlags(process.versions.node), '--eval', ''])
})

test('a Node.js that would not start with a setting does not get it', () => {
  const added = leanFlags('24.21.0').filter((flag) => !leanFlags('22.19.0').includes(flag))
  expect(added).toEqual(['--external-memory-accounted-in-global-limit'])
})

test('the screen starts once more with a larger young generation, and not a third time', () => {
  const start = {
    platform: 'linux',
    env: {},
    execArgv: [],
    argv: ['/bin/node', 'waggle.ts', 'top'],
    versions: process.versions,
  }
  const { argv, env } = leanStart(start)!
  expect(argv).toEqual(['/bin/node', ...SCREEN_FLAGS, 'waggle.ts', 'top'])
  expect(leanStart({ ...start, env, execArgv: [...SCREEN_FLAGS] })).toBeUndefined()
})
