// What goes wrong at the start of a daemon, and beside one that runs: each gets one clear message with a next step, the
// documented exit status, and no stack trace.

import { chmod, cp, mkdir, readdir, readFile, truncate, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ErrorCode, EXIT } from '../../protocol/errors.ts'
import {
  asRoot,
  type Daemon,
  type Finished,
  killAll,
  NOBODY,
  type Options,
  ROOT,
  startDaemon,
  temporary,
  waggle,
} from './daemon.ts'

let folder: Awaited<ReturnType<typeof temporary>>
let home: string
let n = 0
let daemon: Daemon
/** Takes half a minute, in which the other tests run. */
let joining: Promise<Finished>
beforeAll(async () => {
  folder = await temporary()
  await chmod(folder.path, 0o755)
  const path = join(freshHome(), 'store/CURRENT')
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, 'garbage')
  // Nothing here needs a step, and the commands need the CPU.
  daemon = await startDaemon(home, { settings: ['limits.cpu_percent=10'] })
  joining = waggle(['join', NOBODYS_ID, '--home', home], { timeoutMs: 120_000 })
}, 180_000)
afterAll(async () => {
  await killAll()
  await folder.remove()
})

const freshHome = () => {
  home = join(folder.path, `home${n++}`)
  return home
}

async function refusal(args: readonly string[], options?: Options): Promise<Finished> {
  return await waggle([...args, ...(args.includes('--home') ? [] : ['--home', freshHome()])], options)
}

/** One `error:` line, one `try` line, the code; nothing that looks like a stack. */
function expectClear(
  { status, stdout, stderr }: Finished,
  code: ErrorCode,
  exit: number,
  message: RegExp,
): void {
  expect(stderr).toMatch(message)
  expect(stderr.match(/^error: /gm)).toHaveLength(1)
  expect(stderr).toMatch(/^ {2}try {3}\S/m)
  expect(stderr).toContain(code)
  expect(stderr + stdout).not.toMatch(/\n\s+at |This is a bug|undefined|\[object/)
  expect(status).toBe(exit)
}

/** The config file lies in the home and is read first; both say the same of a home that cannot be read. */
const unreadableCode = ({ stderr }: Finished) => (stderr.includes('E_CONFIG') ? 'E_CONFIG' : 'E_HOME')

/** A peer ID of nobody: well-formed, from a key that was thrown away. */
const NOBODYS_ID = '12D3KooWD3eckifWpRn9wQpMG9R9hX3sD158z7EqHWmweQAJU5SA'

// Each starts several processes, on a machine that may be busy.
describe('a daemon that cannot start says why and what to do', { timeout: 120_000 }, () => {
  it('unknown option', async () => {
    expectClear(await refusal(['up', '--hoem', '/tmp/x']), 'E_USAGE', EXIT.usage, /--hoem/)
  })

  it('unknown command', async () => {
    expectClear(await refusal(['upp']), 'E_USAGE', EXIT.usage, /upp/)
  })

  it('config that is not TOML, with an unknown key, with a wrong value: all problems at once, with their lines', async () => {
    await mkdir(freshHome())
    const config = join(home, 'config.toml')
    await writeFile(config, '[training\nbatch_groups = 4\n')
    expectClear(await refusal(['up', '--home', home]), 'E_CONFIG', EXIT.config, /config\.toml/)
    await writeFile(config, '[training]\nown_gruops = 4\nlearning_rate = "fast"\n')
    const result = await refusal(['up', '--home', home])
    expectClear(result, 'E_CONFIG', EXIT.config, /config\.toml:2.*own_gruops/s)
    expect(result.stderr).toMatch(/config\.toml:3.*learning_rate/s)
  })

  it('config file that is named but not there', async () => {
    const result = await refusal(['up', '--config', join(folder.path, 'absent.toml')])
    expectClear(result, 'E_CONFIG', EXIT.config, /absent\.toml/)
  })

  it('model that is missing', async () => {
    const result = await refusal(['up', '--no-swarm', '--model', join(folder.path, 'absent')])
    expectClear(result, 'E_MODEL', EXIT.config, /absent/)
  })

  it('model file that is truncated, or no safetensors at all', async () => {
    const model = join(folder.path, 'model')
    await cp(join(ROOT, 'models/default'), model, { recursive: true })
    const weights = join(model, 'model.safetensors')
    const { length } = await readFile(weights)
    await truncate(weights, Math.floor(length / 2))
    const cut = await refusal(['up', '--no-swarm', '--model', model])
    expectClear(cut, 'E_MODEL', EXIT.config, /promises [\d,]+ bytes, the file has [\d,]+ bytes/)
    expect(cut.stderr).toContain('truncated')
    await writeFile(weights, 'version https://git-lfs.github.com/spec/v1\noid sha256:0000\nsize 4106616\n')
    expectClear(
      await refusal(['up', '--no-swarm', '--model', model]),
      'E_MODEL',
      EXIT.config,
      /model\.safetensors/,
    )
    await writeFile(join(model, 'config.json'), '{"model_type":')
    expectClear(await refusal(['up', '--no-swarm', '--model', model]), 'E_MODEL', EXIT.config, /config\.json/)
  })

  it('port that is in use', async () => {
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as { port: number }
    const result = await refusal(['up', '--listen', `/ip4/127.0.0.1/tcp/${port}`])
    server.close()
    expectClear(result, 'E_PORT', EXIT.refused, new RegExp(String(port)))
  })

  it('home that is a file, or where none can be made', async () => {
    const file = join(folder.path, 'file')
    await writeFile(file, '')
    for (const path of [file, join(file, 'home'), '/proc/waggle']) {
      const result = await refusal(['up', '--no-swarm', '--home', path])
      expectClear(result, unreadableCode(result), EXIT.config, new RegExp(path))
    }
  })

  it('home that may not be read, or not be written', async () => {
    for (const mode of [0o000, 0o555]) {
      const closed = freshHome()
      await mkdir(closed)
      await chmod(closed, mode)
      // Root may do anything, so somebody else tries.
      const result = await waggle(['up', '--no-swarm', '--home', closed], asRoot ? { uid: NOBODY } : {})
      expectClear(
        result,
        result.stderr.includes('E_CONFIG') ? 'E_CONFIG' : 'E_HOME',
        EXIT.config,
        /permission denied/,
      )
      await chmod(closed, 0o755)
    }
  })

  it('identity or checkpoints that are damaged: told which, never begun anew in silence', async () => {
    const damage: Array<[ErrorCode, string, string]> = [
      ['E_IDENTITY', 'identity.key', 'not a key'],
      ['E_CHECKPOINT', 'checkpoints/000001-step-4/manifest.json', '{}'],
    ]
    for (const [code, file, text] of damage) {
      const path = join(freshHome(), file)
      await mkdir(dirname(path), { recursive: true })
      await writeFile(path, text, { mode: 0o600 })
      expectClear(
        await refusal(['up', '--no-swarm', '--home', home]),
        code,
        EXIT.config,
        new RegExp(join(home, file.split('/')[0]!)),
      )
      expect(await readFile(path, 'utf8')).toBe(text)
    }
  })

  it('peer that is no peer ID', async () => {
    for (const target of ['quick-otter', '12D3KooWtooShort', '/ip4/999.0.0.1/tcp/1', '']) {
      const { status, stderr } = await refusal(['join', target])
      expect(stderr.match(/^error: /gm)).toHaveLength(1)
      expect(stderr).toMatch(/^ {2}try {3}\S/m)
      expect(stderr).not.toMatch(/\n\s+at |This is a bug/)
      expect([EXIT.usage, EXIT.refused]).toContain(status)
    }
  })

  it('commands that need a daemon, without one', async () => {
    for (const command of ['status', 'stop', 'peers']) {
      const { status, stderr } = await refusal([command])
      expect(status, stderr).toBe(EXIT.notRunning)
      expect(stderr).toContain('E_NOT_RUNNING')
    }
  })
})

describe('a daemon that runs', { timeout: 120_000 }, () => {
  it('started although its database is damaged, which it set aside', async () => {
    expect(await readdir(daemon.home)).toContainEqual(expect.stringMatching(/^store\.damaged-/))
  })

  it('goes on when another is started on its home, which is told the pid', async () => {
    const result = await refusal(['up', '--no-swarm', '--home', daemon.home])
    expectClear(result, 'E_HOME_LOCKED', EXIT.refused, new RegExp(`\\b${daemon.pid}\\b`))
    expect((await daemon.client.health()).pid).toBe(daemon.pid)
  })

  it('goes on when it was asked to join a peer that does not exist', async () => {
    expectClear(await joining, 'E_PEER', EXIT.refused, /not found|cannot be found|could not/)
    await daemon.until('it goes on', ({ state }) => state !== 'STOPPING')
    expect((await daemon.stop()).status).toBe(0)
  })
})
