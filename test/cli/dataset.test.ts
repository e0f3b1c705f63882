// A dataset as commands show it: its mistakes, its rows, and whether it is there.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { freshHome, removeHomes, waggle } from './run-cli.ts'

afterAll(removeHomes)

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

test('config check says what a dataset has in it', async () => {
  const home = homeWith(
    '{"prompt":"a?","answer":"A"}\n{"prompt":"b?","answer":"B"}\n{"prompt":"a?","answer":"A"}\n',
  )
  const { stdout } = await waggle(['config', 'check', '--home', home])
  expect(stdout).toMatch(
    /^ok {2}rows\.jsonl: 2 questions, 1 of them held out; 1 row repeats another and is left out$/m,
  )
  const { datasets } = JSON.parse((await waggle(['config', 'check', '--json', '--home', home])).stdout)
  expect(datasets).toMatchObject([{ name: 'mine', questions: 2, heldOut: 1, repeated: 1 }])
  expect((await waggle(['doctor', '--home', home])).stdout).toMatch(/dataset +rows\.jsonl: 2 questions/)
})

test('config check names questions that leave no room for an answer in the context of the model', async () => {
  const long = 'What is one plus one? '.repeat(100)
  const home = homeWith(`{"prompt":"a?","answer":"A"}\n${JSON.stringify({ prompt: long, answer: '2' })}\n`)
  const { status, stderr } = await waggle(['config', 'check', '--home', home])
  expect(status).toBe(0)
  expect(stderr).toMatch(/context of 512 tokens leaves no room for an answer to 1 question of mine/)
  expect(stderr).toMatch(/^ {2}\d+ tokens: What is one plus one\?/m)
})

test('a verifier that fails is to be corrected in its own file', async () => {
  const home = homeWith('{"prompt":"a?","answer":"A"}\n{"prompt":"b?","answer":"B"}\n')
  writeFileSync(
    join(home, 'config.toml'),
    '[[tasks]]\nname = "mine"\ndataset = "rows.jsonl"\nverifier = "./own.ts"\n',
  )
  writeFileSync(
    join(home, 'own.ts'),
    "export default { name: 'own', kind: 'verifier', api: 1, summary: '', score: () => 'true' }\n",
  )
  const { stderr, status } = await waggle(['config', 'check', '--home', home])
  expect(status).toBe(4)
  expect(stderr).toMatch(/tasks\.0\.verifier {2}the verifier \S+own\.ts of the dataset/)
  expect(stderr).toContain('gave the text "true" as a score')
  expect(stderr).toMatch(/try +Edit \S+own\.ts, then run/)
  expect(stderr).not.toContain('the config has a problem')
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
