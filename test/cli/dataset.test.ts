// A dataset as commands show it: its mistakes, its rows, and whether it is there.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { freshHome, waggle } from './run-cli.ts'

function homeWith(rows: string): string {
  const home = freshHome()
  writeFileSync(join(home, 'config.toml'), '[[tasks]]\nname = "mine"\ndataset = "rows.jsonl"\n')
  writeFileSync(join(home, 'rows.jsonl'), rows)
  return home
}

test('config check names every mistake of a dataset', async () => {
  const home = homeWith('{"prompt": "a", "answer": "b"}\n{"prompt": "c"}\n{\n')
  const { status, stderr } = await waggle(['config', 'check', '--home', home])
  expect(status).toBe(4)
  expect(stderr).toContain('rows.jsonl has 2 problems')
  expect(stderr).toMatch(/rows\.jsonl:2 {2}"answer" must be/)
  expect(stderr).toMatch(/rows\.jsonl:3 {2}not JSON/)
  expect(stderr).toMatch(/tasks\.0\.dataset .*E_CONFIG/s)
  const shown = await waggle(['config', 'show', '--home', home])
  expect(shown.stdout).toContain(join(home, 'rows.jsonl'))
})

test('score asks a row and judges an answer', async () => {
  const home = homeWith('{"prompt": "a?", "answer": "A"}\n{"prompt": "b?", "answer": "B"}\n')
  expect((await waggle(['config', 'check', '--home', home])).status).toBe(0)
  const ask = async (answer: string) => {
    const { stdout } = await waggle(['score', 'mine', `<answer>${answer}</answer>`, '--json', '--home', home])
    return JSON.parse(stdout) as { question: string; key: string; verdict: { score: number } }
  }
  const { question, key } = await ask('x')
  expect(question).toBe(`${key.toLowerCase()}?`)
  expect((await ask('x')).verdict.score).toBe(0)
  expect((await ask(key)).verdict.score).toBe(1)
  expect((await waggle(['score', 'mind', '--home', home])).stderr).toContain('Did you mean "mine"?')
})
