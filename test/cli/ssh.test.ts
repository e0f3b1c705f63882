// `--on ssh://` through a real ssh server of this user's own, where one is installed: the other machine's waggle is
// asked for its socket, the socket is forwarded, and nothing of the tunnel is left behind.

import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir, userInfo } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { peerName } from '../../protocol/text.ts'
import { SELF } from '../control/scripted-node.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const SSHD = ['/usr/sbin/sshd', '/usr/bin/sshd'].find((path) => existsSync(path))
const usable = SSHD !== undefined && spawnSync('ssh', ['-V']).status === 0

let folder = ''
let port = 0
let sshd: ChildProcess | undefined
let daemon: ChildProcess | undefined
const client = (...argv: string[]) =>
  spawnSync(process.execPath, ['daemon/cli/waggle.ts', ...argv], {
    cwd: ROOT,
    encoding: 'utf8',
    env: { ...process.env, PATH: `${join(folder, 'here')}:${process.env.PATH}`, TMPDIR: join(folder, 'tmp') },
  })

function freePort(): Promise<number> {
  return new Promise((found) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port: free } = server.address() as { port: number }
      server.close(() => found(free))
    })
  })
}

async function until(condition: () => boolean): Promise<void> {
  const end = Date.now() + 30_000
  while (!condition()) {
    if (Date.now() > end) throw new Error('what was waited for did not happen')
    await new Promise((next) => setTimeout(next, 50))
  }
}

describe.skipIf(!usable)('through ssh', () => {
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'waggle-ssh-test-'))
    port = await freePort()
    for (const name of ['here', 'there', 'tmp', 'home']) mkdirSync(join(folder, name))
    const key = (name: string): string => {
      execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(folder, name)])
      return join(folder, name)
    }
    const [host, user] = [key('host'), key('user')]
    const script = (path: string, text: string) => {
      writeFileSync(path, `#!/bin/sh\n${text}\n`)
      chmodSync(path, 0o755)
    }
    // What is called waggle on the other machine, with its home.
    script(
      join(folder, 'there/waggle'),
      `cd ${ROOT} && exec ${process.execPath} daemon/cli/waggle.ts "$@" --home ${join(folder, 'home')}`,
    )
    // ssh with a config of its own, so that this user's is neither read nor written.
    writeFileSync(
      join(folder, 'client.conf'),
      `IdentityFile ${user}\nIdentitiesOnly yes\nUserKnownHostsFile ${join(folder, 'known')}\nStrictHostKeyChecking accept-new\nBatchMode yes\n`,
    )
    script(join(folder, 'here/ssh'), `exec /usr/bin/ssh -F ${join(folder, 'client.conf')} "$@"`)
    writeFileSync(
      join(folder, 'sshd.conf'),
      [
        `Port ${port}`,
        'ListenAddress 127.0.0.1',
        `HostKey ${host}`,
        `AuthorizedKeysFile ${user}.pub`,
        'StrictModes no',
        'UsePAM no',
        'PermitRootLogin yes',
        `PidFile ${join(folder, 'pid')}`,
        `SetEnv PATH=${join(folder, 'there')}:/usr/bin:/bin`,
      ].join('\n'),
    )
    // Run by root it wants this folder; by another user it does without.
    if (userInfo().uid === 0) mkdirSync('/run/sshd', { recursive: true })
    sshd = spawn(SSHD!, ['-D', '-e', '-f', join(folder, 'sshd.conf')], { stdio: 'ignore' })
    daemon = spawn(process.execPath, ['test/cli/scripted-waggle.ts', 'up', '--home', join(folder, 'home')], {
      cwd: ROOT,
      stdio: 'ignore',
    })
    await until(() => existsSync(join(folder, 'home/control.sock')))
    await until(
      () => spawnSync(join(folder, 'here/ssh'), ['-p', String(port), '127.0.0.1', 'true']).status === 0,
    )
  }, 60_000)
  afterAll(() => {
    sshd?.kill()
    daemon?.kill('SIGKILL')
    if (folder) rmSync(folder, { recursive: true, force: true })
  })

  const on = () => `ssh://${userInfo().username}@127.0.0.1:${port}`

  test('its daemon answers, its socket found by asking its own waggle', () => {
    const { status, stdout, stderr } = client('status', '--on', on())
    expect([status, stderr]).toEqual([0, ''])
    expect(stdout).toContain(peerName(SELF))
    expect(readdirSync(join(folder, 'tmp')).filter((name) => name.startsWith('waggle-ssh-'))).toEqual([])
  }, 60_000)

  test('it is steered, too, its socket named', () => {
    const named = `${on()}${join(folder, 'home/control.sock')}`
    expect(client('pause', '--on', named).stdout).toBe('paused\n')
    expect(JSON.parse(client('status', '--json', '--on', named).stdout)).toMatchObject({ state: 'PAUSED' })
  }, 60_000)

  test('a socket that is not there is one clear message', () => {
    const { status, stderr } = client('status', '--on', `${on()}/nonexistent.sock`)
    expect(status).not.toBe(0)
    expect(stderr).toMatch(/^error: /)
    expect(stderr).not.toMatch(/\n {4}at /)
  }, 60_000)
})
