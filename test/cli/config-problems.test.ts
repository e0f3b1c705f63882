// A config with mistakes of two sorts, in its keys and in the plugins that it names: all are told at once, wherever the
// config is read by someone who would start a node with it.

import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { contextFor, freshHome, removeHomes, waggle } from './run-cli.ts'

afterAll(removeHomes)

const homeWith = (config: string): string => {
  const home = freshHome()
  writeFileSync(join(home, 'config.toml'), config)
  return home
}

const WRONG = [
  '[training]',
  'lerning_rate = 1',
  '[estimator]',
  'use = "gropo"',
  '[[corrections]]',
  'use = "clip"',
  'low = 7',
  '[[corrections]]',
  'us = "tis"',
  '[[corrections]]',
  'use = "grpo"',
  '[[controls]]',
  'use = "./mine.ts"',
].join('\n')

const TOLD = [
  /config\.toml:2 {2}training\.lerning_rate {2}there is no such key/,
  /config\.toml:4 {2}estimator {2}estimator "gropo": there is no such plugin; the built-in ones are grpo,/,
  /config\.toml:6 {2}corrections\.0 {2}correction "clip": low: /,
  /config\.toml:8 {2}corrections\.1\.use {2}must be a string/,
  /config\.toml:11 {2}corrections\.2 {2}correction "grpo": it is an estimator plugin and belongs under "estimator"/,
]

test.each([
  [['up'], 5],
  [['plugins', 'check'], 5],
  // They look at files of plugins as well.
  [['config', 'check'], 6],
  [['restart'], 6],
])(
  'waggle %j tells mistakes in keys and in plugins together, in the order of the file',
  async (words, count) => {
    const { status, stderr } = await waggle([...words, '--home', homeWith(WRONG)])
    expect(status).toBe(4)
    expect(stderr).toContain(`the config has ${count} problems`)
    expect(stderr).toContain('E_CONFIG')
    const places = TOLD.map((line) => stderr.search(line))
    expect(places.every((at) => at >= 0)).toBe(true)
    expect(places).toEqual([...places].sort((a, b) => a - b))
    expect(stderr.includes('mine.ts')).toBe(count === 6)
  },
)

test('doctor has a finding for each', async () => {
  const { stdout } = await waggle(['doctor', '--json', '--no-swarm', '--home', homeWith(WRONG)])
  const { findings } = JSON.parse(stdout) as { findings: { what: string; fact: string }[] }
  const facts = findings.filter(({ what }) => what === 'config').map(({ fact }) => fact)
  expect(facts).toHaveLength(TOLD.length)
  for (const [i, line] of TOLD.entries()) expect(facts[i]).toMatch(line)
})

test('one mistake on the command line is one sentence, which names the key once', async () => {
  const { stderr } = await waggle(['config', 'check', '--set', 'traning.seed=1', '--home', freshHome()])
  const [error, hint] = stderr.split('\n')
  expect(error).toBe('error: --set traning.seed: there is no such key. Did you mean "node.seed"?')
  expect(hint).toMatch(/Correct the command line\. `.*help config` explains every key\./)
})

test('whoever sets a part of a list is told to set the list', async () => {
  const { stderr } = await waggle(['config', 'check', '--set', 'tasks.0.name=x', '--home', freshHome()])
  expect(stderr).toMatch(/--set tasks\.0\.name: there is no such key\. Did you mean "tasks"\?/)
})

test('doctor names a wrong key of the command line once', async () => {
  const { stdout } = await waggle(['doctor', '--home', freshHome(), '--set', 'traning.seed=1'])
  expect(stdout).toMatch(/fail {2}config +--set traning\.seed {2}there is no such key/)
})

test('config check imports plugin files, and tells of one that is not there', async () => {
  const { status, stderr } = await waggle([
    'config',
    'check',
    '--set',
    'estimator=gropo',
    '--home',
    freshHome(),
  ])
  expect([status, stderr]).toEqual([4, expect.stringMatching(/--set estimator: .*"gropo"/)])
  const home = homeWith('[[controls]]\nuse = "./mine.ts"\n')
  const missing = await waggle(['config', 'check', '--home', home])
  expect([missing.status, missing.stderr]).toEqual([
    4,
    expect.stringMatching(/controls\.0 .* there is no file .*mine\.ts/),
  ])
})

test('config check reads the rows of an environment', async () => {
  const home = homeWith(
    '[[environments]]\nname = "sums"\nuse = "nemo-gym"\nurl = "http://127.0.0.1:1"\ndataset = "rows.jsonl"\n',
  )
  const missing = await waggle(['config', 'check', '--home', home])
  expect([missing.status, missing.stderr]).toEqual([
    4,
    expect.stringMatching(
      /config\.toml:5 {2}environments\.0\.dataset {2}cannot read .*rows\.jsonl: it does not exist/,
    ),
  ])
})

const CANNOT_START = `
[model]
path = "./nowhere"
[engine]
kind = "tfjs"
device = "cuda"
[[tasks]]
name = "basic_arithmetc"
[[tasks]]
name = "base_conversion"
difficulty = 99
[[tasks]]
name = "mine"
dataset = "./rows.jsonl"
[[corrections]]
use = "clip"
lowr = 0.2
[[corrections]]
use = "teachers"
from = ["peers", "./nobody.gguf"]
[[roles]]
name = "hinter"
model = "./nobody"
[swarm]
listen = ["/ip4/nonsense"]
key_file = "./no.key"
[control]
listen = "0.0.0.0:4190"
`

const ALL_OF_IT = [
  /config\.toml:3 {2}model\.path {2}.*nowhere.config\.json cannot be read: it does not exist/,
  /config\.toml:6 {2}engine\.device {2}"cuda" cannot be used here/,
  /config\.toml:7 {2}tasks\.0 {2}there is no task "basic_arithmetc"\. Did you mean "basic_arithmetic"\?/,
  /config\.toml:9 {2}tasks\.1 {2}base_conversion has difficulties 0 to 5, not 99/,
  /config\.toml:14 {2}tasks\.2\.dataset {2}the dataset .*rows\.jsonl/,
  /config\.toml:16 {2}corrections\.0 {2}correction "clip": Unrecognized key: "lowr"/,
  /config\.toml:20 {2}corrections\.1\.from {2}.*nobody\.gguf does not exist/,
  /config\.toml:23 {2}roles\.0\.model {2}.*nobody.config\.json cannot be read/,
  /config\.toml:25 {2}swarm\.listen\.0 {2}"\/ip4\/nonsense" is not a multiaddr/,
  /config\.toml:26 {2}swarm\.key_file {2}cannot be read/,
  /config\.toml:28 {2}control\.listen {2}.*can be reached by other machines/,
]

test.each([[['config', 'check']], [['restart']]])(
  'waggle %j tells, all at once, what would keep a node from starting',
  async (words) => {
    const { status, stderr } = await waggle([...words, '--home', homeWith(CANNOT_START)])
    expect(status).toBe(4)
    for (const line of ALL_OF_IT) expect(stderr).toMatch(line)
    expect(stderr).toContain(`${ALL_OF_IT.length} problems`)
    expect(stderr).not.toMatch(/^ {4}at /m)
  },
)

test('a wrong key does not hide what else is wrong', async () => {
  const home = homeWith('[training]\nlerning_rate = 1\n[[tasks]]\nname = "basic_arithmetc"\n')
  const { stderr } = await waggle(['config', 'check', '--home', home])
  expect(stderr).toContain('2 problems')
  expect(stderr).toMatch(/lerning_rate/)
  expect(stderr).toMatch(/no task "basic_arithmetc"/)
})

test('plugins check tells of a task that there is not, without a stack', async () => {
  const home = homeWith('[[tasks]]\nname = "base_conversion"\ndifficulty = 99\n')
  const { status, stderr } = await waggle(['plugins', 'check', '--home', home])
  expect([status, stderr]).toEqual([
    4,
    expect.stringMatching(/^error: base_conversion has difficulties 0 to 5, not 99/),
  ])
  expect(stderr).not.toContain('bug')
})

test('a model that this home continues and that is gone is missed before a start', async () => {
  const home = homeWith('')
  const folder = join(home, 'checkpoints', '00000001')
  mkdirSync(folder, { recursive: true })
  const manifest = {
    step: 7,
    lineage: '0'.repeat(64),
    files: {},
    meta: { base: { name: 'other', directory: '/gone' } },
  }
  writeFileSync(join(folder, 'manifest.json'), JSON.stringify(manifest))
  const { paths } = contextFor({ home })
  expect(join(paths.checkpoints, '00000001')).toBe(folder)
  const { status, stderr } = await waggle(['config', 'check', '--home', home])
  expect([status, stderr]).toEqual([
    4,
    expect.stringMatching(/model\.path {2}this home continues the model \/gone, .*up --model PATH/),
  ])
})

test('a restart looks before anything is stopped', async () => {
  const { status, stderr } = await waggle(['restart', '--home', homeWith('[estimator]\nuse = "gropo"\n')])
  expect([status, stderr]).toEqual([4, expect.stringMatching(/config\.toml:2 {2}estimator {2}.*"gropo"/)])
})

test('if the text is not TOML, only that is reported', async () => {
  const { stderr } = await waggle(['config', 'check', '--home', homeWith('[estimator\nuse = "gropo"')])
  expect(stderr).toMatch(/a problem\n.*not TOML/)
  expect(stderr).not.toContain('gropo')
})
