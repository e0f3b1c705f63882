// A config with mistakes of two sorts, in its keys and in the plugins that it names: all are told at once, wherever the
// config is read by someone who would start a node with it.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { freshHome, waggle } from './run-cli.ts'

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
  /config\.toml:4 {2}estimator {2}estimator "gropo": there is no such plugin; built in are grpo,/,
  /config\.toml:6 {2}corrections\.0 {2}correction "clip": low: /,
  /config\.toml:8 {2}corrections\.1\.use {2}must be a text/,
  /config\.toml:11 {2}corrections\.2 {2}correction "grpo": it is a estimator plugin, and belongs under "estimator"/,
]

test.each([[['up']], [['config', 'check']], [['plugins', 'check']], [['restart']]])(
  'waggle %j tells mistakes in keys and in plugins together, in the order of the file',
  async (words) => {
    const { status, stderr } = await waggle([...words, '--home', homeWith(WRONG)])
    expect(status).toBe(4)
    expect(stderr).toContain('the config has 5 problems')
    expect(stderr).toContain('E_CONFIG')
    const places = TOLD.map((line) => stderr.search(line))
    expect(places.every((at) => at >= 0)).toBe(true)
    expect(places).toEqual([...places].sort((a, b) => a - b))
    expect(stderr).not.toContain('mine.ts')
  },
)

test('doctor has a finding for each', async () => {
  const { stdout } = await waggle(['doctor', '--json', '--no-swarm', '--home', homeWith(WRONG)])
  const { findings } = JSON.parse(stdout) as { findings: { what: string; fact: string }[] }
  const facts = findings.filter(({ what }) => what === 'config').map(({ fact }) => fact)
  expect(facts).toHaveLength(TOLD.length)
  for (const [i, line] of TOLD.entries()) expect(facts[i]).toMatch(line)
})

test('config check tells of a plugin that there is not, where all keys are right; a file is looked at when it is loaded', async () => {
  const { status, stderr } = await waggle([
    'config',
    'check',
    '--set',
    'estimator=gropo',
    '--home',
    freshHome(),
  ])
  expect([status, stderr]).toEqual([4, expect.stringMatching(/--set estimator {2}estimator {2}.*"gropo"/)])
  const home = homeWith('[[controls]]\nuse = "./mine.ts"\n')
  expect((await waggle(['config', 'check', '--home', home])).status).toBe(0)
})

test('a restart looks before anything is stopped', async () => {
  const { status, stderr } = await waggle(['restart', '--home', homeWith('[estimator]\nuse = "gropo"\n')])
  expect([status, stderr]).toEqual([4, expect.stringMatching(/config\.toml:2 {2}estimator {2}.*"gropo"/)])
})

test('text that is not TOML is told alone', async () => {
  const { stderr } = await waggle(['config', 'check', '--home', homeWith('[estimator\nuse = "gropo"')])
  expect(stderr).toMatch(/a problem\n.*not TOML/)
  expect(stderr).not.toContain('gropo')
})
