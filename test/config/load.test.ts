import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { configKeys } from '../../daemon/config/keys.ts'
import { type Loaded, type LoadOptions, loadConfig } from '../../daemon/config/load.ts'
import { defaultConfig } from '../../daemon/config/schema.ts'
import type { WaggleError } from '../../protocol/errors.ts'

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'waggle-config-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

function load(toml: string | undefined, more: Partial<LoadOptions> = {}): Loaded {
  const file = join(folder, 'config.toml')
  if (toml !== undefined) writeFileSync(file, toml)
  return loadConfig({ file, env: {}, cwd: '/somewhere', homedir: '/home/ada', ...more })
}

function problems(toml: string, more: Partial<LoadOptions> = {}): string[] {
  try {
    load(toml, more)
  } catch (error) {
    expect((error as WaggleError).code).toBe('E_CONFIG')
    return (error as WaggleError).message
      .split('\n')
      .slice(1)
      .map((line) => line.trim())
  }
  throw new Error('the config was accepted')
}

test('a missing file means defaults, and every default is within its own limits', () => {
  expect(load(undefined).config).toEqual(defaultConfig())
})

test('a missing file that was asked for is an error', () => {
  expect(() => load(undefined, { required: true })).toThrow(/there is no config file/)
})

test('all mistakes are told at once, with line and what was probably meant', () => {
  const found = problems(
    [
      '[training]',
      'lerning_rate = 1',
      'own_groups = "x"',
      '[engine]',
      'device = "webgup"',
      '[[tasks]]',
      'name = "Foo"',
      'dificulty = 1',
      '[swarn]',
      'x = 1',
    ].join('\n'),
    {
      env: { WAGGLE_TRAINING_MAX_STALENESS: 'a' },
      flags: [['--set trainig.own_groups', 'trainig.own_groups', '3']],
    },
  )
  expect(found).toEqual([
    'config.toml:2  training.lerning_rate  there is no such key. Did you mean "learning_rate"?',
    'config.toml:3  training.own_groups  must be a number',
    'config.toml:5  engine.device  must be one of auto, cpu, webgpu, cuda, dml, coreml. Did you mean "webgpu"?',
    'config.toml:7  tasks.0.name  must be a task name: a-z, 0-9 and _',
    'config.toml:8  tasks.0.dificulty  there is no such key. Did you mean "difficulty"?',
    'config.toml:9  swarn  there is no such key. Did you mean "swarm"?',
    'WAGGLE_TRAINING_MAX_STALENESS  training.max_staleness  must be a number, not "a"',
    '--set trainig.own_groups  trainig.own_groups  there is no such key. Did you mean "training.own_groups"?',
  ])
})

test('text that is not TOML is told with line and column', () => {
  expect(problems('[training\nx = 1')[0]).toMatch(/^config\.toml:1:\d+ {2}not TOML: /)
})

test('the same task twice is refused', () => {
  expect(problems('[[tasks]]\nname = "a"\n[[tasks]]\nname = "a"')[0]).toContain('listed twice')
})

test('flags win over environment, environment over file, file over defaults; each origin is known', () => {
  const { config, originOf } = load('[training]\nown_groups = 2\nforeign_groups = 2\nminibatches = 2', {
    env: { WAGGLE_TRAINING_FOREIGN_GROUPS: '3', WAGGLE_TRAINING_MINIBATCHES: '3' },
    flags: [['--set training.minibatches', 'training.minibatches', '4']],
  })
  expect([config.training.own_groups, config.training.foreign_groups, config.training.minibatches]).toEqual([
    2, 3, 4,
  ])
  const origins = ['own_groups', 'foreign_groups', 'minibatches', 'weight_decay'].map((k) =>
    originOf(['training', k]),
  )
  expect(origins).toEqual([
    'config.toml:2',
    'WAGGLE_TRAINING_FOREIGN_GROUPS',
    '--set training.minibatches',
    undefined,
  ])
})

test('plugins keep settings that the schema does not know', () => {
  const { config } = load(
    '[estimator]\nuse = "grpo"\nscale = "group"\n[[corrections]]\nuse = "clip"\nhigh = 0.3',
  )
  expect(config.estimator).toEqual({ use: 'grpo', scale: 'group' })
  expect(config.corrections).toEqual([{ use: 'clip', high: 0.3 }])
})

describe('values as text', () => {
  const set = (path: string, value: string) => load('', { flags: [['--set', path, value]] }).config
  test('lists take commas, or TOML', () => {
    expect(set('tasks', 'a, b').tasks).toEqual([{ name: 'a' }, { name: 'b' }])
    expect(set('tasks', '[{ name = "a", difficulty = 2 }]').tasks).toEqual([{ name: 'a', difficulty: 2 }])
    expect(set('swarm.listen', '/ip4/127.0.0.1/tcp/1,/ip4/127.0.0.1/tcp/2').swarm.listen).toHaveLength(2)
    expect(set('swarm.bootstrap', '').swarm.bootstrap).toEqual([])
  })
  test('a plugin by its name', () => expect(set('estimator', 'rloo').estimator).toEqual({ use: 'rloo' }))
  test('true and false in the usual words', () => {
    expect(set('swarm.enabled', 'no').swarm.enabled).toBe(false)
    expect(() => set('swarm.enabled', 'maybe')).toThrow(/must be true or false/)
  })
})

test('a WAGGLE_ variable that means nothing is a warning, one that is an option is not', () => {
  const { warnings } = load('', {
    env: { WAGGLE_MODEL_PAHT: 'x', WAGGLE_HOME: '/x', PATH: '/bin' },
    reserved: new Set(['WAGGLE_HOME']),
  })
  expect(warnings).toEqual(['WAGGLE_MODEL_PAHT is not a setting. Did you mean "WAGGLE_MODEL_PATH"?'])
})

test("a model's path is relative to the file that names it", () => {
  expect(load('[model]\npath = "m"').config.model.path).toBe(join(folder, 'm'))
  expect(load('', { env: { WAGGLE_MODEL_PATH: 'm' } }).config.model.path).toBe('/somewhere/m')
  expect(load('[model]\npath = "~/m"').config.model.path).toBe('/home/ada/m')
  expect(load('').config.model.path).toBe('default')
})

test('every key is described, and has a variable of its own', () => {
  const keys = configKeys()
  expect(keys.filter((key) => key.description.length < 10)).toEqual([])
  expect(new Set(keys.map((key) => key.env)).size).toBe(keys.length)
})
