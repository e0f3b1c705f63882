// Waiting for a node that was started in the background, by a clock that is turned by hand.

import { closeSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { openOutput, whenUp, withoutDetach } from '../../daemon/cli/daemon/detach.ts'
import { freshHome, removeHomes, waggle } from './run-cli.ts'

afterAll(removeHomes)

const HEALTH = { name: 'otter', peerId: '12D3KooW', pid: 7 } as never

function starting({ upAfter, endsAfter }: { upAfter?: number; endsAfter?: number }) {
  let now = 0
  const said: string[] = []
  const outcome = whenUp(
    { pid: 7, output: '/home/up.out', status: 'waggle status' },
    {
      health: async () => (upAfter !== undefined && now >= upAfter ? HEALTH : undefined),
      ended: () => (endsAfter !== undefined && now >= endsAfter ? 3 : undefined),
      words: () => 'reading the model\nmaking the first plan\n',
      say: (line) => said.push(line),
      clock: () => now,
      pause: async () => {
        now += 1000
      },
    },
  )
  return { outcome, said }
}

test('a node that needs five minutes is waited for, and what it is at is said meanwhile', async () => {
  const { outcome, said } = starting({ upAfter: 300_000 })
  expect(await outcome).toBe(HEALTH)
  expect(said[0]).toBe('  still starting, 20 s: making the first plan')
  expect(said.length).toBeLessThan(20)
})

test('one that ends says how', async () => {
  expect(await starting({ endsAfter: 2000 }).outcome).toBe(3)
})

test('one that never answers is left running, and nobody is told to kill it', async () => {
  const error = await starting({}).outcome.catch((caught) => caught)
  expect(error).toMatchObject({ code: 'E_CONTROL', hint: expect.stringContaining('waggle status') })
  expect(`${error.message} ${error.hint}`).not.toContain('kill')
})

test('a node that answers while it starts is not up yet', async () => {
  let now = 0
  const answer = async () =>
    ({ name: 'otter', pid: 7, state: now < 5000 ? 'STARTING' : 'GENERATING' }) as never
  const outcome = await whenUp(
    { pid: 7, output: '/home/up.out', status: 'waggle status' },
    {
      ...{ health: answer, ended: () => undefined, words: () => '', say: () => {}, clock: () => now },
      pause: async () => {
        now += 1000
      },
    },
  )
  expect(outcome).toMatchObject({ state: 'GENERATING' })
})

test.each(['up', 'restart', 'join'])('a home that is called %s stays one', (home) => {
  expect(withoutDetach(['--home', home, 'restart'])).toEqual(['--home', home, 'up'])
})

test('a home that does not exist is made for this user only', () => {
  const home = join(freshHome(), 'new')
  closeSync(openOutput(join(home, 'logs', 'up.out')))
  expect(statSync(home).mode & 0o777).toBe(0o700)
})

test('a home that cannot be made is no bug', async () => {
  const file = join(freshHome(), 'file')
  writeFileSync(file, '')
  const { stderr } = await waggle(['up', '--detach', '--home', join(file, 'home')])
  expect(stderr).toContain('E_HOME')
})
