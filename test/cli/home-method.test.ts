// What a home was trained with decides how it goes on: all parameters or an adapter, and at which learning rate.

import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { freshHome, removeHomes, waggle } from './run-cli.ts'

afterAll(removeHomes)

const ADAPTER = { rank: 4, alpha: 8, targets: ['q_proj'] }

/** `adapter`: of the checkpoint in the home. */
async function trainingIn(config: string, adapter?: typeof ADAPTER) {
  const home = freshHome()
  writeFileSync(join(home, 'config.toml'), config)
  const folder = join(home, 'checkpoints', '00000001')
  mkdirSync(folder, { recursive: true })
  const meta = { base: { name: 'default', directory: '/bundled' }, ...(adapter && { adapter }) }
  const manifest = { step: 7, lineage: '0'.repeat(64), files: {}, meta }
  writeFileSync(join(folder, 'manifest.json'), JSON.stringify(manifest))
  const { stdout } = await waggle(['config', 'show', '--json', '--home', home])
  const { method, learning_rate } = JSON.parse(stdout).config.training
  return [method, learning_rate]
}

test('a home of all parameters goes on at their learning rate', async () => {
  expect(await trainingIn('')).toEqual(['auto', 1e-4])
})

test('a home of an adapter goes on at the adapter’s', async () => {
  expect(await trainingIn('', ADAPTER)).toEqual(['auto', 1e-3])
})

test('a method or a rate that the config names stays', async () => {
  expect(await trainingIn('[training]\nlearning_rate = 0.5\n')).toEqual(['auto', 0.5])
  expect(await trainingIn('[training]\nmethod = "full"\n')).toEqual(['full', 1e-4])
})

test('`auto` that is written out is as none', async () => {
  expect(await trainingIn('[training]\nmethod = "auto"\n')).toEqual(['auto', 1e-4])
})
