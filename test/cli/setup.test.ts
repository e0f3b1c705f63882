import { spawnSync } from 'node:child_process'
import { chmodSync, copyFileSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, test } from 'vitest'
import type { Finding } from '../../daemon/cli/doctor/finding.ts'
import { machineHere } from '../../daemon/cli/doctor/here.ts'
import { COMMANDS } from '../../daemon/cli/table.ts'
import { PRESET_NAMES, proposePreset } from '../../daemon/config/presets.ts'
import { TASKS } from '../../plugins/tasks/index.ts'
import { freshHome, removeHomes, waggle } from './run-cli.ts'

afterAll(removeHomes)

describe('init', () => {
  test('writes every key with its default, so that taking away the # changes nothing', async () => {
    const home = freshHome()
    expect((await waggle(['init', '--home', home])).stdout).toBe(`${home}/config.toml\n`)
    const plain = readFileSync(join(home, 'config.toml'), 'utf8')
    expect((await waggle(['config', 'check', '--home', home])).status).toBe(0)
    const taken = plain.replace(/^# ([a-z_]+ = .)/gm, '$1').replace(/^# \[/gm, '[')
    expect(taken).not.toBe(plain)
    writeFileSync(join(home, 'config.toml'), taken)
    const shown = await waggle(['config', 'show', '--home', home, '--json'])
    const defaults = await waggle(['config', 'show', '--home', freshHome(), '--json'])
    expect(JSON.parse(shown.stdout)).toEqual(JSON.parse(defaults.stdout))
  })

  test('does not overwrite unless told to', async () => {
    const home = freshHome()
    writeFileSync(join(home, 'config.toml'), '[node]\nname = "mine"\n')
    expect((await waggle(['init', '--home', home])).status).toBe(4)
    expect(readFileSync(join(home, 'config.toml'), 'utf8')).toContain('mine')
    expect((await waggle(['init', '--force', '--home', home])).status).toBe(0)
  })
})

async function doctor(home: string, ...more: string[]): Promise<{ status: number; findings: Finding[] }> {
  const { status, stdout } = await waggle(['doctor', '--json', '--home', home, ...more])
  return { status, findings: JSON.parse(stdout).findings }
}

test('init makes a home for this user only', async () => {
  const home = join(freshHome(), 'new')
  await waggle(['init', '--home', home])
  expect(statSync(home).mode & 0o777).toBe(0o700)
})

test('init takes a preset, and `auto` finds one for this machine', async () => {
  const home = freshHome()
  expect((await waggle(['init', '--preset', 'tiny', '--home', home])).status).toBe(0)
  const shown = JSON.parse((await waggle(['config', 'show', '--json', '--origin', '--home', home])).stdout)
  expect(shown.config.training.batch_groups).toBe(4)
  expect(shown.origins['training.batch_groups']).toBe('preset tiny')
  const auto = await waggle(['init', '--preset', 'auto', '--force', '--json', '--home', home])
  expect(PRESET_NAMES).toContain(JSON.parse(auto.stdout).preset)
  expect((await waggle(['init', '--preset', 'tny', '--home', home])).stderr).toContain('Did you mean "tiny"?')
})

describe('doctor', () => {
  test('plans memory for models that only teach', async () => {
    const home = freshHome()
    const teacher = fileURLToPath(new URL('../../models/three-tasks', import.meta.url))
    writeFileSync(
      join(home, 'config.toml'),
      `[[corrections]]\nuse = "teachers"\nfrom = [${JSON.stringify(teacher)}]\n`,
    )
    const { findings } = await doctor(home)
    expect(findings.find(({ what }) => what === 'memory plan')?.fact).toContain('teachers')
  })

  test('finds a home that others can read', async () => {
    const home = freshHome()
    writeFileSync(join(home, 'identity.key'), 'secret', { mode: 0o600 })
    chmodSync(home, 0o755)
    const { findings } = await doctor(home)
    expect(findings.find(({ what }) => what === 'home')).toMatchObject({
      level: 'warn',
      fact: `others can read ${home}`,
      fix: `chmod 700 ${home}`,
    })
  })

  test('finds a sound machine sound, in text and JSON', async () => {
    const home = freshHome()
    const { findings } = await doctor(home, '--listen', '/ip4/127.0.0.1/tcp/0')
    for (const what of [
      'Node.js',
      'CPU',
      'memory',
      'preset',
      'disk',
      'clock',
      'GPU',
      'sampling',
      'socket',
      'engine',
      'config',
      'home',
      'plugins',
      'daemon',
      'ports',
    ]) {
      expect(findings.map((finding) => finding.what)).toContain(what)
    }
    const text = await waggle(['doctor', '--home', home])
    expect(text.stdout).toMatch(/^ok {4}Node\.js +\d+\.\d+\.\d+$/m)
  })

  test('names each thing that is broken, with a fix, and ends with 6', async () => {
    const home = freshHome()
    const model = join(home, 'model')
    mkdirSync(model)
    for (const name of ['config.json', 'tokenizer.json'])
      copyFileSync(fileURLToPath(new URL(`../../models/default/${name}`, import.meta.url)), join(model, name))
    const table = Buffer.from(JSON.stringify({ w: { dtype: 'F32', shape: [4], data_offsets: [0, 16] } }))
    const length = Buffer.alloc(8)
    length.writeBigUInt64LE(BigInt(table.length))
    writeFileSync(join(model, 'model.safetensors'), Buffer.concat([length, table, Buffer.alloc(10)]))
    writeFileSync(join(home, 'identity.key'), 'secret')
    chmodSync(join(home, 'identity.key'), 0o644)
    const taken = createServer().listen(0, '127.0.0.1')
    await new Promise((resolve) => taken.once('listening', resolve))
    const { port } = taken.address() as { port: number }
    writeFileSync(
      join(home, 'config.toml'),
      `[model]\npath = "model"\n[estimator]\nuse = "grop"\n[engine]\nthreads = 1000\n[swarm]\nlisten = ["/ip4/127.0.0.1/tcp/${port}"]\n`,
    )
    const { status, findings } = await doctor(home)
    taken.close()
    expect(status).toBe(6)
    const said = (what: string) => findings.find((finding) => finding.what === what)
    expect(said('model')).toMatchObject({
      level: 'fail',
      fact: expect.stringMatching(/the header promises \d+ bytes, the file has \d+ bytes/),
    })
    expect(said('plugins')).toMatchObject({
      level: 'fail',
      fact: expect.stringContaining('Did you mean "grpo"?'),
    })
    expect(said('ports')).toMatchObject({ level: 'fail', fact: expect.stringContaining('is in use') })
    expect(said('home')).toMatchObject({ level: 'warn', fix: expect.stringContaining('chmod 600') })
    expect(said('CPU')).toMatchObject({ level: 'warn' })
    for (const finding of findings) if (finding.level !== 'ok') expect(finding.fix).toBeTruthy()
  })

  test('tries the engine on the model: sampler and trainer agree', async () => {
    const { findings } = await doctor(freshHome(), '--no-swarm')
    expect(findings.find(({ what }) => what === 'sampling')).toMatchObject({
      level: 'ok',
      fact: expect.stringMatching(/differ by at most \d\.\de-\d+/),
    })
  })

  test('warns of a preset that asks for more than there is, and dials the peers to start with', async () => {
    const home = freshHome()
    const listening = createServer().listen(0, '127.0.0.1')
    await new Promise((resolve) => listening.once('listening', resolve))
    const { port } = listening.address() as { port: number }
    writeFileSync(
      join(home, 'config.toml'),
      `preset = "large"\n[swarm]\nbootstrap = ["/ip4/127.0.0.1/tcp/${port}/p2p/x", "/ip4/127.0.0.1/tcp/1/p2p/x"]\n`,
    )
    const { findings } = await doctor(home)
    listening.close()
    const said = (what: string) => findings.filter((finding) => finding.what === what)
    if (proposePreset(await machineHere()) !== 'large')
      expect(said('preset')[0]).toMatchObject({ level: 'warn', fix: expect.stringContaining('preset = "') })
    expect(said('peers').map(({ level }) => level)).toEqual(['ok', 'warn'])
  })

  test('lists every mistake of a broken config', async () => {
    const home = freshHome()
    writeFileSync(join(home, 'config.toml'), '[training]\nlerning_rate = 1\nbatch_groups = 0\n')
    const { status, findings } = await doctor(home)
    expect(status).toBe(6)
    expect(findings.filter(({ what }) => what === 'config').map(({ fact }) => fact)).toEqual([
      'config.toml:2  training.lerning_rate  there is no such key. Did you mean "learning_rate"?',
      'config.toml:3  training.batch_groups  must be at least 1',
    ])
  })
})

test("env has what a bug report needs, without secrets or the user's name", async () => {
  const home = freshHome()
  const env = { WAGGLE_API_TOKEN: 'hush-1', AWS_SECRET: 'hush-2', XDG_RUNTIME_DIR: '/nonexistent/run' }
  const { stdout } = await waggle(['env', '--json', '--home', home], { env })
  const facts = JSON.parse(stdout)
  expect(facts).toMatchObject({
    waggle: expect.stringMatching(/^\d/),
    packages: { libp2p: expect.stringMatching(/^\d/) },
    config: { rollout: { group_size: 8 } },
  })
  expect(facts.variables).toMatchObject({ WAGGLE_API_TOKEN: '[removed]', XDG_RUNTIME_DIR: '~/run' })
  expect(stdout).not.toMatch(/hush|AWS/)
  expect((await waggle(['env', '--home', home], { env })).stdout).toContain('onnxruntime-node')
})

test.each(['foo', './nosuch', '/nosuch', 'default'])(
  'model pull fetches nothing for what is no name on the hub: %s',
  async (name) => {
    const { status, stdout, stderr } = await waggle(['model', 'pull', name, '--home', freshHome()])
    expect([status, stdout, stderr]).toEqual([2, '', expect.stringContaining('is no name on the hub')])
  },
)

describe('score', () => {
  const task = TASKS.find(({ name }) => name === 'basic_arithmetic')!
  /** As a home without a config trains it. */
  const difficulty = 1
  const { key, question } = task.generate({ seed: 5, difficulty })

  test('says whether an answer is right', async () => {
    const right = await waggle(['score', 'basic_arithmetic', `<answer>${key}</answer>`, '--seed', '5'])
    expect(right.stdout).toContain('score   1')
    const wrong = await waggle([
      'score',
      'basic_arithmetic',
      '<answer>nope</answer>',
      '--seed',
      '5',
      '--json',
    ])
    expect(JSON.parse(wrong.stdout)).toMatchObject({ question, key, verdict: { score: 0 } })
  })

  test('asks at the difficulty at which the home trains the task', async () => {
    const home = freshHome()
    const { max } = task.difficulty
    writeFileSync(join(home, 'config.toml'), `[[tasks]]\nname = "${task.name}"\ndifficulty = ${max}\n`)
    const { stdout } = await waggle(['score', task.name, '--seed', '5', '--home', home])
    expect(stdout).toContain(`${task.generate({ seed: 5, difficulty: max }).question}\n`)
    expect(stdout).toContain(`seed 5, difficulty ${max}\n`)
  })

  test('asks at the difficulty that is given', async () => {
    const { min } = task.difficulty
    const { stdout } = await waggle(['score', task.name, '--difficulty', String(min)])
    expect(stdout).toContain(`seed 0, difficulty ${min}\n`)
  })

  test('prints the question when there is no answer, and knows its tasks', async () => {
    expect((await waggle(['score', 'basic_arithmetic', '--seed', '5'])).stdout).toBe(
      `${question}\nkey     ${key}\nat      seed 5, difficulty ${difficulty}\n`,
    )
    const { status, stderr } = await waggle(['score', 'basic_arithmetik'])
    expect(status).toBe(4)
    expect(stderr).toContain('Did you mean "basic_arithmetic"?')
    expect((await waggle(['score', 'basic_arithmetic', '--difficulty', '999'])).stderr).toContain(
      'Difficulties go from',
    )
  })
})

describe('export', () => {
  test('makes a table of a run', async () => {
    const home = freshHome()
    mkdirSync(join(home, 'runs'))
    const step = (n: number, metrics: object) =>
      JSON.stringify({ v: 1, id: n, time: n * 10, type: 'step', step: n, version: n, metrics })
    writeFileSync(
      join(home, 'runs', 'a.jsonl'),
      [
        step(1, { reward: 0.5 }),
        JSON.stringify({
          v: 1,
          id: 2,
          time: 15,
          type: 'eval',
          step: 1,
          version: 1,
          accuracy: 0.25,
          tasks: { a: 0.25 },
          prompts: 4,
        }),
        step(2, { reward: 0.6, loss: -1 }),
        '{"cut',
      ].join('\n'),
    )
    const { stdout } = await waggle(['export', 'run', '--home', home])
    expect(stdout).toBe(
      'time,step,reward,eval_accuracy,eval_a,loss\n10,1,0.5,,,\n15,1,,0.25,0.25,\n20,2,0.6,,,-1\n',
    )
    const lines = await waggle([
      'export',
      'run',
      join(home, 'runs', 'a.jsonl'),
      '--format',
      'jsonl',
      '--home',
      home,
    ])
    expect(JSON.parse(lines.stdout.split('\n')[0]!)).toEqual({ time: 10, step: 1, reward: 0.5 })
    expect((await waggle(['export', 'run', '--home', freshHome()])).stderr).toContain('no run was recorded')
  })

  test('a run as JSON has a line for each step', async () => {
    const home = freshHome()
    mkdirSync(join(home, 'runs'))
    const step = { v: 1, id: 1, time: 10, type: 'step', step: 1, version: 1, metrics: { reward: 0.5 } }
    writeFileSync(join(home, 'runs', 'a.jsonl'), JSON.stringify(step))
    const { stdout } = await waggle(['export', 'run', '--json', '--home', home])
    expect(JSON.parse(stdout)).toEqual({ time: 10, step: 1, reward: 0.5 })
  })

  test('a folder in place of the file of a run is refused', async () => {
    const home = freshHome()
    const { status, stderr } = await waggle(['export', 'run', home, '--home', home])
    expect(stderr).toContain(`${home} is a folder, not the file of a run`)
    expect(status).toBe(2)
  })
})

describe('completion', () => {
  test.each(['bash', 'zsh', 'fish', 'powershell'])('%s knows every command', async (shell) => {
    const { stdout } = await waggle(['completion', shell])
    for (const { name } of COMMANDS) expect(stdout).toContain(name)
    expect(stdout).toContain(shell === 'fish' ? '-l origin' : '--origin')
  })

  test('bash completes commands, options and choices', async () => {
    const { stdout } = await waggle(['completion', 'bash'])
    const complete = (...words: string[]) =>
      spawnSync(
        'bash',
        [
          '-c',
          `${stdout}\nCOMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _waggle; echo "\${COMPREPLY[@]}"`,
          'x',
          'waggle',
          ...words,
        ],
        { encoding: 'utf8' },
      ).stdout.trim()
    expect(complete('st')).toBe('stop status')
    expect(complete('config', 'ch')).toBe('check')
    expect(complete('top', '--re')).toBe('--replay --read-only')
    expect(complete('--home', '/tmp', 'conf')).toContain('config')
    expect(complete('up', '--preset', '')).toBe('tiny standard large')
    expect(complete('logs', '--level', 'w')).toBe('warn')
    expect(complete('up', '--set', 'engine.dev')).toBe('engine.device=')
    // Bash splits words at `=`.
    expect(complete('up', '--set', 'engine.device', '=', 'cp')).toBe('cpu')
  })
})
