import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { configKeys } from '../../daemon/config/keys.ts'
import { createLiveConfig, differenceOf, LIVE_KEYS } from '../../daemon/config/live.ts'
import { type Loaded, type LoadOptions, loadConfig } from '../../daemon/config/load.ts'
import { isOfPreset, PRESET_NAMES, PRESETS, proposePreset } from '../../daemon/config/presets.ts'
import { defaultConfig } from '../../daemon/config/schema.ts'
import { POOL_GROUPS } from '../../daemon/node/core.ts'
import { createReconfigure } from '../../daemon/node/reconfigure.ts'
import type { WaggleError } from '../../protocol/errors.ts'

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'waggle-config-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

function load(toml: string | Uint8Array | undefined, more: Partial<LoadOptions> = {}): Loaded {
  const file = join(folder, 'config.toml')
  if (toml !== undefined) writeFileSync(file, toml)
  return loadConfig({ file, env: {}, cwd: '/somewhere', homedir: '/home/ada', ...more })
}

function problems(toml: string | Uint8Array, more: Partial<LoadOptions> = {}): string[] {
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
  expect(load(undefined).config).toEqual({ ...defaultConfig(), recipe: 'three-tasks' })
})

test('a node may learn from use alone, if somebody can ask it', () => {
  const use = 'tasks = []\n[agents]\nlearn = "feedback"\n'
  expect(load(`${use}[serve]\nlisten = "127.0.0.1:4390"`).config.agents.learn).toBe('feedback')
  expect(problems(use)).toEqual([
    expect.stringMatching(/^config.toml:3 {2}agents.learn {2}.*needs serve.listen/),
  ])
})

test.each([
  ['control', 'listen = "127.0.0.1:70000"', 'control.listen'],
  ['serve', 'listen = "127.0.0.1:65536"', 'serve.listen'],
  ['agents', 'listen = "[::1]:99999"', 'agents.listen'],
  ['swarm', 'stun = ["stun.example.org:70000"]', 'swarm.stun.0'],
])('a port of %s that is none is a mistake in the config', (section, line, key) => {
  expect(problems(`[${section}]\n${line}`)).toEqual([
    expect.stringContaining(`config.toml:2  ${key}  must be host:port, such as `),
  ])
})

test.each([0, 80, 4190, 59_999, 65_535])('%i is a port', (port) => {
  expect(load(`[serve]\nlisten = "127.0.0.1:${port}"`).config.serve.listen).toBe(`127.0.0.1:${port}`)
})

test('a missing file that was asked for is an error', () => {
  expect(() => load(undefined, { required: true })).toThrow(/there is no config file/)
})

const NAMED = '[node]\nname = "café"\n'
test.each([
  ['Latin-1', Buffer.from(NAMED, 'latin1'), 2],
  ['UTF-16', Buffer.from(`\ufeff${NAMED}`, 'utf16le'), 1],
  ['UTF-16', Buffer.from(NAMED, 'utf16le'), 1],
])('a file in %s is refused, with what it seems to be and where', (encoding, bytes, line) => {
  expect(problems(bytes)).toEqual([
    `config.toml:${line}  not UTF-8: it seems to be ${encoding}; save it as UTF-8`,
  ])
})

test('a byte order mark of UTF-8 is no mistake', () => {
  expect(load(`\ufeff${NAMED}`).config.node.name).toBe('café')
})

test('all mistakes are reported at once, with line and suggestion', () => {
  const found = problems(
    [
      '[training]',
      'lerning_rate = 1',
      'batch_groups = "x"',
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
      flags: [['--set trainig.batch_groups', 'trainig.batch_groups', '3']],
    },
  )
  expect(found).toEqual([
    'config.toml:2  training.lerning_rate  there is no such key. Did you mean "learning_rate"?',
    'config.toml:3  training.batch_groups  must be a number',
    'config.toml:5  engine.device  must be one of auto, cpu, webgpu, cuda, dml, coreml. Did you mean "webgpu"?',
    'config.toml:7  tasks.0.name  must be a task name: a-z, 0-9 and _',
    'config.toml:8  tasks.0.dificulty  there is no such key. Did you mean "difficulty"?',
    'config.toml:9  swarn  there is no such key. Did you mean "swarm"?',
    'WAGGLE_TRAINING_MAX_STALENESS  training.max_staleness  must be a number, not "a"',
    '--set trainig.batch_groups  there is no such key. Did you mean "training.batch_groups"?',
  ])
})

test('text that is not TOML is reported with line and column', () => {
  expect(problems('[training\nx = 1')[0]).toMatch(/^config\.toml:1:\d+ {2}not TOML: /)
})

test('a batch cannot be larger than what may wait for it: it would never be full', () => {
  const set = (groups: number) => load(`[training]\nbatch_groups = ${groups}`)
  expect(set(POOL_GROUPS).config.training.batch_groups).toBe(POOL_GROUPS)
  expect(() => set(POOL_GROUPS + 1)).toThrow(/batch_groups/)
})

test('the same task twice is refused', () => {
  expect(problems('[[tasks]]\nname = "a"\n[[tasks]]\nname = "a"')[0]).toContain('listed twice')
})

test('an environment has the keys of its protocol, and its rows are found from the config file', () => {
  const environment = (rest: string) => `[[environments]]\nname = "a"\nurl = "http://127.0.0.1:8000"\n${rest}`
  expect(load(environment('use = "nemo-gym"\ndataset = "rows.jsonl"')).config.environments[0]!.dataset).toBe(
    join(folder, 'rows.jsonl'),
  )
  expect(problems(environment('use = "nemo-gym"'))[0]).toMatch(/environments\.0\.dataset.* is missing/)
  expect(problems(environment('use = "nemo-gym"\ndataset = "x"\naction = "text"'))[0]).toMatch(
    /environments\.0\.action.* is only for use = "openenv"/,
  )
  expect(problems(environment('use = "openenv"\ndataset = "x"'))[0]).toMatch(
    /environments\.0\.dataset.* is only for use = "nemo-gym"/,
  )
})

test('frozen weights of fewer bits are refused where all weights are trained', () => {
  const file = (method: string, precision: string) =>
    `[training]\nmethod = "${method}"\n[engine]\nbase_precision = "${precision}"`
  expect(problems(file('full', 'q4'))).toEqual([
    'config.toml:4  engine.base_precision  is "q4", but training.method = "full" trains all weights, as float32; use training.method = "lora"',
  ])
  for (const [method, precision] of [
    ['full', 'f32'],
    ['full', 'auto'],
    ['lora', 'q4'],
    ['auto', 'q8'],
  ] as const)
    expect(load(file(method, precision)).config.engine.base_precision).toBe(precision)
})

test('flags win over environment, environment over file, file over defaults; each origin is known', () => {
  const { config, originOf } = load('[training]\nbatch_groups = 2\nmax_peer_groups = 2\nminibatches = 2', {
    env: { WAGGLE_TRAINING_MAX_PEER_GROUPS: '3', WAGGLE_TRAINING_MINIBATCHES: '3' },
    flags: [['--set training.minibatches', 'training.minibatches', '4']],
  })
  expect([
    config.training.batch_groups,
    config.training.max_peer_groups,
    config.training.minibatches,
  ]).toEqual([2, 3, 4])
  const origins = ['batch_groups', 'max_peer_groups', 'minibatches', 'weight_decay'].map((k) =>
    originOf(['training', k]),
  )
  expect(origins).toEqual([
    'config.toml:2',
    'WAGGLE_TRAINING_MAX_PEER_GROUPS',
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
  const peer = '12D3KooWS7USNa9h8worDgC3Q2UQ8GH5Ks7xgSLtfcX4ga7ypqyn'
  const set = (path: string, value: string) => load('', { flags: [['--set', path, value]] }).config
  test.each([
    ['a word', 'all', 'all'],
    ['one peer', peer, [peer]],
    ['peers with commas', `${peer}, ${peer}`, [peer, peer]],
    ['TOML', `["${peer}"]`, [peer]],
  ])('what may be a word or a list takes %s', (_, text, value) => {
    expect(set('swarm.trust', text).swarm.trust).toEqual(value)
  })

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

test('keys that do nothing any more are warnings, wherever they are set, and change nothing', () => {
  const { config, warnings } = load('[training]\nmixing = "side-step"\nscale_rate = true\n', {
    env: { WAGGLE_TRAINING_SCALE_RATE: 'true' },
    flags: [['--set training.mixing', 'training.mixing', 'fltrust']],
  })
  expect(config).toEqual(load('').config)
  expect(warnings).toEqual([
    expect.stringMatching(/^config\.toml:2: training\.mixing does nothing any more: .*Remove it\.$/),
    expect.stringMatching(/^config\.toml:3: training\.scale_rate does nothing/),
    expect.stringMatching(/^WAGGLE_TRAINING_SCALE_RATE: training\.scale_rate does nothing/),
    expect.stringMatching(/^--set training\.mixing: training\.mixing does nothing/),
  ])
})

test.each([
  ['own_groups', 'batch_groups', '3'],
  ['foreign_groups', 'max_peer_groups', '4'],
  ['growth_steps', 'batch_ramp_steps', '5'],
])(
  'training.%s of the last version is read as training.%s, with a warning, wherever it is set',
  (was, now, value) => {
    const sources = [
      load(`[training]\n${was} = ${value}\n`),
      load('', { env: { [`WAGGLE_TRAINING_${was.toUpperCase()}`]: value } }),
      load('', { flags: [[`--set training.${was}`, `training.${was}`, value]] }),
    ]
    for (const { config, warnings } of sources) {
      expect(config.training).toMatchObject({ [now]: Number(value) })
      expect(warnings).toEqual([expect.stringContaining(`training.${was} is now called training.${now}.`)])
    }
    expect(sources[0]!.originOf(['training', now])).toBe('config.toml:2')
  },
)

test('a key under its new name overrides the one of the last version', () => {
  const { config } = load('[sampler]\nuse = "engine"\nkind = "vllm"\n', {
    env: { WAGGLE_TRAINING_OWN_GROUPS: '3', WAGGLE_TRAINING_BATCH_GROUPS: '5' },
  })
  expect([config.sampler.kind, config.training.batch_groups]).toEqual(['vllm', 5])
})

test("a model's path is relative to the file that names it", () => {
  expect(load('[model]\npath = "m"').config.model.path).toBe(join(folder, 'm'))
  expect(load('', { env: { WAGGLE_MODEL_PATH: 'm' } }).config.model.path).toBe('/somewhere/m')
  expect(load('[model]\npath = "~/m"').config.model.path).toBe('/home/ada/m')
  expect(load('').config.model.path).toBe('default')
})

test('so is every other path, and a plugin in the file keeps the name that it has there', () => {
  const keys = ['metrics.tensorboard', 'swarm.key_file', 'sampler.model', 'sampler.adapters']
  const valuesOf = (config: ReturnType<typeof load>['config']): unknown[] => [
    ...[config.metrics.tensorboard, config.swarm.key_file, config.sampler.model, config.sampler.adapters],
    ...[config.estimator.use, config.hints[0]?.use],
  ]
  const inFile = `${keys.map((key) => `${key} = "f"`).join('\n')}\nestimator = { use = "./e.ts" }\nhints = [{ use = "./h.ts" }]`
  expect(valuesOf(load(inFile).config)).toEqual([...keys.map(() => join(folder, 'f')), './e.ts', './h.ts'])
  const flags = keys.map((key): [string, string, string] => [`--set ${key}`, key, 'f'])
  const typed = [...flags, ['--set estimator', 'estimator', './e.ts'] as [string, string, string]]
  expect(valuesOf(load('', { flags: typed }).config)).toEqual([
    ...keys.map(() => '/somewhere/f'),
    ...['/somewhere/e.ts', undefined],
  ])
})

test('every key is described, and has a variable of its own', () => {
  const keys = configKeys()
  expect(keys.filter((key) => key.description.length < 10)).toEqual([])
  expect(new Set(keys.map((key) => key.env)).size).toBe(keys.length)
})

describe('a GGUF file', () => {
  test('starts with a task that it can learn, and keeps all that the config sets', () => {
    const { config, originOf } = load(
      'preset = "tiny"\n[model]\npath = "a.gguf"\n[training]\nmethod = "full"\n',
    )
    expect(config.tasks).toEqual([{ name: 'number_sorting', difficulty: 0, examples: 1 }])
    expect(config.training).toMatchObject({ method: 'full', batch_groups: 4 })
    expect(originOf(['tasks', 0, 'name'])).toBe('recipe of this model')
    expect(originOf(['training', 'batch_groups'])).toBe('preset tiny')
  })

  test('with tasks of its own, and any other model, has the usual defaults', () => {
    const { config } = load('[model]\npath = "a.gguf"\n[[tasks]]\nname = "bf"\n')
    expect(config.tasks).toEqual([{ name: 'bf' }])
    expect(config.rollout.groups_per_round).toBe(16)
    expect(load('[model]\npath = "folder"\n').config.tasks[0]!.name).toBe('basic_arithmetic')
  })
})

describe('the learning rate', () => {
  const rateOf = (text: string) => load(text).config.training.learning_rate
  const GGUF = '[model]\npath = "a.gguf"\n'
  const FULL = '[training]\nmethod = "full"\n'

  test('depends on what is trained, whatever the tasks', () => {
    const tasks = '[[tasks]]\nname = "bf"\n'
    expect([rateOf(''), rateOf(tasks)]).toEqual([1e-3, 1e-3])
    expect([rateOf(GGUF), rateOf(GGUF + tasks)]).toEqual([3e-4, 3e-4])
    expect([FULL, FULL + tasks, FULL + GGUF, FULL + GGUF + tasks].map(rateOf)).toEqual(Array(4).fill(1e-4))
  })

  test('is the config’s where it names one', () => {
    expect(rateOf('[training]\nmethod = "full"\nlearning_rate = 0.5\n')).toBe(0.5)
    expect(rateOf('[training]\nlearning_rate = 0.5\n')).toBe(0.5)
  })
})

describe('presets', () => {
  test('lie under the file, and say so', () => {
    const { config, originOf } = load('preset = "tiny"\n[training]\nbatch_groups = 7\n')
    expect(config.training).toMatchObject({ batch_groups: 7, max_peer_groups: 512 })
    expect(config.engine.threads).toBe(1)
    expect(originOf(['training', 'batch_groups'])).toBe('config.toml:3')
    expect(originOf(['rollout', 'groups_per_round'])).toBe('preset tiny')
    expect(originOf(['training', 'learning_rate'])).toBeUndefined()
  })

  test('come from a variable or a flag, too, which wins over the file', () => {
    const { config } = load('preset = "tiny"\n', { flags: [['--set preset', 'preset', 'large']] })
    expect(config.training.batch_groups).toBe(32)
    expect(load(undefined, { env: { WAGGLE_PRESET: 'tiny' } }).config.training.batch_groups).toBe(4)
  })

  test('that do not exist are one mistake with a guess, and a section that is no table another', () => {
    expect(problems('preset = "tinny"\n')).toEqual([expect.stringContaining('Did you mean "tiny"?')])
    expect(problems('preset = "tiny"\ntraining = 3\n')).toEqual([expect.stringContaining('must be a table')])
  })

  test.each(PRESET_NAMES)(
    '%s holds values that the schema takes, and other ones than the defaults',
    (name) => {
      const { config } = load(`preset = "${name}"\n`)
      const known = new Map(configKeys().map((key) => [key.path, key]))
      for (const [path, value] of Object.entries(PRESETS[name].values)) {
        expect([path, known.get(path)?.default]).not.toEqual([path, value])
        expect(known.has(path)).toBe(true)
      }
      expect(config.preset).toBe(name)
    },
  )

  test.each([
    [{ cores: 1, memoryBytes: 8e9 }, 'tiny'],
    [{ cores: 2, memoryBytes: 24e9 }, 'standard'],
    [{ cores: 4, memoryBytes: 2e9 }, 'tiny'],
    [{ cores: 16, memoryBytes: 64e9 }, 'large'],
  ] as const)('%o gets %s', (machine, name) => {
    expect(proposePreset(machine)).toBe(name)
  })
})

describe('what changes while a node runs', () => {
  test('live keys are taken, others are named, and a config that was read before stays as it was', () => {
    const first = load(undefined).config
    const { settings, take } = createLiveConfig(first)
    const next = load('[training]\nlearning_rate = 3e-4\nmax_staleness = 4\n[node]\nname = "x"\n').config
    const { live, restart } = take(next)
    expect(live).toEqual([{ path: 'training.learning_rate', from: 1e-3, to: 3e-4 }])
    expect(restart.map(({ path }) => path).sort()).toEqual(['node.name', 'training.max_staleness'])
    expect(settings()).toEqual({ ...first, training: { ...first.training, learning_rate: 3e-4 } })
    expect(first).toEqual(load('').config)
    expect(take(next).live).toEqual([])
  })

  test('peers cannot be learnt from where memory was planned without them, and can be left out and taken back', async () => {
    const config = createLiveConfig(load('[training]\nmax_peer_groups = 0\n').config)
    const node = (canMix: boolean) =>
      createReconfigure(
        { config, file: 'config.toml', canMix },
        {
          ...{ log() {}, onChange() {}, checkConfig: async () => {} },
          readConfig: (settings = {}) =>
            load(`[training]\nmax_peer_groups = ${settings['training.max_peer_groups'] ?? 8}\n`).config,
        },
      )
    await expect(node(false)({ 'training.max_peer_groups': '16' })).rejects.toThrow(/cannot be raised from 0/)
    // A file that was edited is no command: what has to wait is told.
    expect(await node(false)({})).toEqual({ changed: [], restart: ['training.max_peer_groups'] })
    expect(config.settings().training.max_peer_groups).toBe(0)
    const other = node(true)
    for (const to of ['16', '0', '4']) await other({ 'training.max_peer_groups': to })
    expect(config.settings().training.max_peer_groups).toBe(4)
  })

  test('every live key is a key, and the pace of evaluation is one only while there is evaluation', () => {
    const known = new Set(configKeys().map(({ path }) => path))
    for (const path of LIVE_KEYS) expect(known).toContain(path)
    const plain = load(undefined).config
    const off = load('[eval]\nevery_seconds = 0\n').config
    expect(differenceOf(plain, off).restart).toHaveLength(1)
    expect(differenceOf(plain, load('[eval]\nevery_seconds = 5\n').config).live).toHaveLength(1)
  })
})

test('a value that the preset sets is told from one that somebody chose', () => {
  expect(isOfPreset('tiny', 'limits.celsius', 75)).toBe(true)
  expect(isOfPreset('tiny', 'limits.celsius', 60)).toBe(false)
  expect(isOfPreset('tiny', 'limits.on_battery', false)).toBe(false)
  expect(isOfPreset(undefined, 'limits.celsius', 75)).toBe(false)
})
