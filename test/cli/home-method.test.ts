// What a home was trained with decides how it goes on: all parameters or an adapter, and at which learning rate.

import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { freshHome, removeHomes, waggle } from './run-cli.ts'

afterAll(removeHomes)

const ADAPTER = { rank: 4, alpha: 8, targets: ['q_proj'] }

/** The section of a home with such a checkpoint. */
async function sectionIn(config: string, adapter?: typeof ADAPTER) {
  const home = freshHome()
  writeFileSync(join(home, 'config.toml'), config)
  const folder = join(home, 'checkpoints', '00000001')
  mkdirSync(folder, { recursive: true })
  const meta = { base: { name: 'default', directory: '/bundled' }, ...(adapter && { adapter }) }
  const manifest = { step: 7, lineage: '0'.repeat(64), files: {}, meta }
  writeFileSync(join(folder, 'manifest.json'), JSON.stringify(manifest))
  const { stdout } = await waggle(['config', 'show', '--json', '--home', home])
  return JSON.parse(stdout).config.training
}

async function trainingIn(config: string, adapter?: typeof ADAPTER) {
  const { method, learning_rate } = await sectionIn(config, adapter)
  return [method, learning_rate]
}

async function adapterIn(config: string) {
  const { lora_rank, lora_alpha } = await sectionIn(config, ADAPTER)
  return [lora_rank, lora_alpha]
}

test('a home of all parameters goes on at their learning rate', async () => {
  expect(await trainingIn('')).toEqual(['auto', 1e-4])
})

test('a home of an adapter goes on at the adapter’s', async () => {
  expect(await trainingIn('', ADAPTER)).toEqual(['auto', 1e-3])
})

test('a home of an adapter keeps its rank and alpha, unless the config names others', async () => {
  expect(await adapterIn('')).toEqual([4, 8])
  expect(await adapterIn('[training]\nlora_rank = 2\n')).toEqual([2, 8])
})

test('a method or a rate that the config names stays', async () => {
  expect(await trainingIn('[training]\nlearning_rate = 0.5\n')).toEqual(['auto', 0.5])
  expect(await trainingIn('[training]\nmethod = "full"\n')).toEqual(['full', 1e-4])
})

test('`auto` that is written out is as none', async () => {
  expect(await trainingIn('[training]\nmethod = "auto"\n')).toEqual(['auto', 1e-4])
})
