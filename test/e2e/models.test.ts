// Several models in one home, in the order of the README: the included one, a GGUF file, and a plain start.

import { createHash } from 'node:crypto'
import { copyFile, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { specOf } from '../../daemon/policy/architectures/index.ts'
import { CONFIGS } from '../conformance/families.ts'
import { byteLevelEntries, entriesOf, ggufBytes, randomWeights, tensorsOf } from '../policy/gguf/make.ts'
import { type Daemon, killAll, startDaemon, temporary, waggle } from './daemon.ts'

let folder: Awaited<ReturnType<typeof temporary>>
beforeEach(async () => {
  folder = await temporary()
})
afterEach(async () => {
  await killAll()
  await folder.remove()
})

async function tinyGguf(name: string): Promise<string> {
  const config = { ...CONFIGS.SmolLM2, vocab_size: 300, max_position_embeddings: 2048 }
  const spec = specOf(config)
  const entries = { ...entriesOf('llama', config), ...byteLevelEntries() }
  const path = join(folder.path, name)
  await writeFile(path, await ggufBytes(entries, tensorsOf('llama', spec, randomWeights(spec))))
  return path
}

const up = async (home: string, ...args: string[]): Promise<Daemon> => {
  const daemon = await startDaemon(home, { args: ['up', '--no-swarm', ...args] })
  await daemon.until('it is up', ({ training }) => training !== undefined)
  return daemon
}
const stop = async (daemon: Daemon): Promise<string> => {
  const { status, stderr } = await daemon.stop()
  expect(status).toBe(0)
  expect(stderr).not.toMatch(/passed over|\n\s+at /)
  return stderr
}

it('each model of a home has its own lineage, and a plain start continues the one trained last', async () => {
  const home = join(folder.path, 'home')
  const file = await tinyGguf('tiny.gguf')

  const first = await up(home)
  const included = await first.until('two steps', ({ training }) => training!.step >= 2, 120_000)
  const evaluated = await first.client.send('eval', { promptsPerTask: 3 })
  const { evaluations } = await first.client.snapshot()
  expect(evaluations!.at(-1)).toMatchObject({ step: evaluated.step, accuracy: evaluated.accuracy })
  await first.client.send('eval', { tasks: [Object.keys(evaluated.tasks)[0]!], promptsPerTask: 2 })
  expect((await first.client.snapshot()).evaluations).toEqual(evaluations)
  expect(first.stderr()).toMatch(/evaluated at step \d+: .* of 2 held-out questions/)
  await stop(first)

  const second = await up(home, '--model', file, '--set', 'warm_start.steps=0')
  const other = await second.client.snapshot()
  expect(other.model!.path).toBe(file)
  expect(other.model!.policy.lineage).not.toBe(included.model!.policy.lineage)
  expect(other.training!.step).toBe(0)
  expect(other.evaluations).toEqual([])
  expect(await stop(second)).toContain('up --model default')

  const third = await up(home)
  const again = await third.client.snapshot()
  expect(again.model!.path).toBe(file)
  expect(again.tasks!.map(({ name }) => name)).toEqual(['number_sorting'])
  await stop(third)

  const fourth = await up(home, '--model', 'default')
  const back = await fourth.client.snapshot()
  expect(back.model!.policy.lineage).toBe(included.model!.policy.lineage)
  expect(back.training!.step).toBeGreaterThanOrEqual(2)
  expect(back.evaluations!.length).toBeGreaterThan(0)
  await stop(fourth)

  const out = join(folder.path, 'out')
  expect((await waggle(['export', 'model', out, '--home', home])).status).toBe(0)
  const card = await readFile(join(out, 'README.md'), 'utf8')
  expect(card).toMatch(/- Steps 1 to \d+: basic_arithmetic \(difficulty 1\)/)
  expect(card).toContain('license: apache-2.0')
  expect(card).not.toContain(folder.path)
  const adapter = join(folder.path, 'adapter')
  expect((await waggle(['export', 'adapter', adapter, '--model', file, '--home', home])).status).toBe(0)
  const bare = await readFile(join(adapter, 'README.md'), 'utf8')
  expect(bare).toContain('No step was taken yet')
  expect(bare).toContain(
    createHash('sha256')
      .update(await readFile(file))
      .digest('hex'),
  )
  expect(bare + (await readFile(join(adapter, 'adapter_config.json'), 'utf8'))).not.toContain(folder.path)

  const { stdout } = await waggle(['checkpoint', 'list', '--home', home])
  expect(stdout).toMatch(/Waggle's default model +\d/)
  expect(stdout).toMatch(/tiny +0/)
}, 400_000)

it('a model that is gone, or is another one by now, is not exchanged in silence', async () => {
  const home = join(folder.path, 'home')
  const file = await tinyGguf('tiny.gguf')
  await stop(await up(home, '--model', file))
  const moved = join(folder.path, 'moved.gguf')
  await rename(file, moved)
  const gone = await waggle(['up', '--home', home, '--no-swarm'])
  expect(gone.stderr).toMatch(/tiny\.gguf, which is not there[\s\S]*up --model PATH/)
  const elsewhere = await up(home, '--model', moved)
  expect(elsewhere.stderr()).toContain('continuing at step 0')
  await stop(elsewhere)

  const other = { ...CONFIGS.SmolLM2, vocab_size: 301, max_position_embeddings: 2048 }
  const spec = specOf(other)
  const bytes = await ggufBytes(
    { ...entriesOf('llama', other), ...byteLevelEntries() },
    tensorsOf('llama', spec, randomWeights(spec)),
  )
  await writeFile(`${moved}.new`, bytes)
  await copyFile(`${moved}.new`, moved)
  const changed = await waggle(['up', '--home', home, '--no-swarm'])
  expect(changed.stderr).toMatch(/is another one by now[\s\S]*up --model/)
  const anew = await up(home, '--model', moved)
  expect(anew.stderr()).not.toContain('continuing')
  await stop(anew)
}, 300_000)
