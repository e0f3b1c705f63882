// What a person is told where a word, a variable or a file is wrong: the place that it came from, and a command to type.

import { afterAll, expect, test } from 'vitest'
import { EVENT_TYPES } from '../../protocol/api/index.ts'
import { decodeInvite } from '../../protocol/wire/index.ts'
import { freshHome, removeHomes, waggle } from './run-cli.ts'

afterAll(removeHomes)

test('suggested commands keep the home that was given', async () => {
  const { stderr } = await waggle(['status', '--home', './my home'])
  expect(stderr).toMatch(/`waggle up[^`]* --home '\.\/my home'/)
  expect(stderr).toMatch(/`waggle help E_NOT_RUNNING`/)
})

test('the hint for a damaged invite leaves out the home of the node that joins', async () => {
  const { stderr } = await waggle(['join', 'waggle1damaged', '--home', freshHome()], {
    runNode: async ({ invite }) => decodeInvite(invite!) as never,
  })
  expect(stderr).toContain('the whole string that `waggle invite` printed on the other node')
})

test('a wrong flag is corrected on the command line, a wrong variable where it is set', async () => {
  const flag = await waggle(['config', 'show', '--threads', 'abc', '--home', freshHome()])
  expect(flag.stderr).toMatch(/--threads: engine\.threads: must be a number/)
  expect(flag.stderr).toContain('Correct the command line.')
  expect(flag.stderr).not.toContain('Edit ')
  const env = { WAGGLE_THREADS: 'abc' }
  const variable = await waggle(['config', 'show', '--home', freshHome()], { env })
  expect(variable.stderr).toMatch(/WAGGLE_THREADS {2}engine\.threads/)
  expect(variable.stderr).toContain('Correct or unset WAGGLE_THREADS.')
})

test('a switch by variable is true or false, and nothing else', async () => {
  const { status, stderr } = await waggle(['help'], { env: { WAGGLE_JSON: 'maybe' } })
  expect([status, stderr]).toEqual([
    2,
    expect.stringContaining('WAGGLE_JSON must be true or false, not "maybe"'),
  ])
  expect((await waggle(['help'], { env: { WAGGLE_JSON: 'on' } })).stdout).toMatch(/^\{"v":1/)
})

test('a type of event that there is not is refused', async () => {
  const { status, stderr } = await waggle(['events', '--type', 'stpe', '--home', freshHome()])
  expect([status, stderr]).toEqual([2, expect.stringContaining('Did you mean "step"?')])
  for (const type of EVENT_TYPES) expect(stderr).toContain(type)
})

test('sharing a file that is not there says so', async () => {
  const { status, stderr } = await waggle(['send-file', './nothing', '--home', freshHome()], { cwd: '/data' })
  expect([status, stderr]).toEqual([2, expect.stringContaining('there is no file /data/nothing')])
})

test('env prints no undefined', async () => {
  expect((await waggle(['env'])).stdout).not.toContain('undefined')
})
