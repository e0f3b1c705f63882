// The program on docs/library.md is the one in scripts/library, and both programs there run.

import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { blocksOf, ROOT, read } from './blocks.ts'

const programOf = (file: string) => join(ROOT, 'scripts/library', file)

test('the page has the loop as it is', () => {
  const [loop] = blocksOf(read('docs/library.md')).filter(({ file }) => file === 'loop.mts')
  expect(loop?.text).toBe(readFileSync(programOf('loop.mts'), 'utf8'))
})

test.each(['loop.mts', 'trainer.mts'])('scripts/library/%s runs', { timeout: 300_000 }, async (file) => {
  const cwd = mkdtempSync(join(tmpdir(), 'waggle-page-'))
  try {
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['--disable-warning=ExperimentalWarning', '--conditions=waggle-source', programOf(file), '2'],
      { cwd },
    )
    expect(stdout).toMatch(/^(step|round) 2, mean reward \d\.\d{3}/m)
    if (file === 'loop.mts') expect(readdirSync(join(cwd, 'sums-model'))).toContain('model.safetensors')
  } finally {
    rmSync(cwd, { recursive: true })
  }
})
