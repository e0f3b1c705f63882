// The programs of docs/library.md are those in scripts/library, and they run.

import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { blocksOf, ROOT, read } from './blocks.ts'

const programs = blocksOf(read('docs/library.md')).filter(({ file }) => file !== undefined)

test('the page has both programs', () => {
  expect(programs.map(({ file }) => file)).toEqual(['loop.mts', 'trainer.mts'])
})

test.each(programs)(
  '$file on the page is the one in scripts/library, and runs',
  { timeout: 300_000 },
  async ({ file, text }) => {
    const path = join(ROOT, 'scripts/library', file!)
    expect(readFileSync(path, 'utf8')).toBe(text)
    const cwd = mkdtempSync(join(tmpdir(), 'waggle-page-'))
    try {
      const { stdout } = await promisify(execFile)(
        process.execPath,
        ['--disable-warning=ExperimentalWarning', '--conditions=waggle-source', path, '2'],
        { cwd },
      )
      expect(stdout).toMatch(/^(step|round) 2, mean reward \d\.\d{3}/m)
      if (file === 'loop.mts') expect(readdirSync(join(cwd, 'sums-model'))).toContain('model.safetensors')
    } finally {
      rmSync(cwd, { recursive: true })
    }
  },
)
