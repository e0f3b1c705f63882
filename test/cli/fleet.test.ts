import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ask, parseFleet } from '../../daemon/cli/fleet/nodes.ts'
import { fleetText } from '../../daemon/cli/fleet/table.ts'
import { type ControlServer, startControlServer } from '../../daemon/control/api/server.ts'
import { createScriptedNode } from '../control/scripted-node.ts'
import { freshHome, removeHomes, waggle } from './run-cli.ts'

afterAll(removeHomes)

let home = ''
let server: ControlServer
beforeAll(async () => {
  home = freshHome()
  const node = createScriptedNode()
  server = await startControlServer(
    {
      ...{ socket: join(home, 'control.sock'), run: 'r' },
      tcp: {
        ...{ listen: '127.0.0.1:0', public: false },
        ...{ readTokenFile: join(home, 'read'), adminTokenFile: join(home, 'admin') },
      },
    },
    { node, clock: Date.now },
  )
})
afterAll(() => server.close())

const listed = (text: string, mode = 0o600): string => {
  writeFileSync(join(home, 'list'), text, { mode })
  chmodSync(join(home, 'list'), mode)
  return join(home, 'list')
}

test('a row for each node; one that does not answer says why, and the exit status too', async () => {
  const fleet = listed(
    `box unix://${home}/control.sock\nhere .   # a home, from where the list is\ngone ./gone\n`,
  )
  const { status, stdout } = await waggle(['status', '--all', '--fleet', 'list'], { cwd: home })
  const rows = stdout.split('\n')
  expect(rows[0]).toMatch(/^NODE +STATE +MODEL +STEP +ACCURACY +TOKENS\/S +PEERS +ALERTS$/)
  expect(rows[1]).toMatch(/^box +(?!NO)[A-Z]+ +.*\d/)
  expect(rows[1]!.replace('box ', 'here')).toBe(rows[2]!)
  expect(rows[3]).toMatch(/^gone +NO ANSWER +- /)
  expect(stdout).toContain('! gone: no daemon is running (nothing answers on ')
  expect(status).toBe(5)
  const json = JSON.parse((await waggle(['status', '--fleet', fleet, '--json'])).stdout)
  expect(
    json.nodes.map((one: { name: string; error?: { code: string } }) => [one.name, one.error?.code]),
  ).toEqual([
    ['box', undefined],
    ['here', undefined],
    ['gone', 'E_NOT_RUNNING'],
  ])
})

test('a token opens a node on another machine, and must be for its owner only', async () => {
  const line = `far http://127.0.0.1:${server.tcp!.port}`
  const token = readFileSync(join(home, 'read'), 'utf8').trim()
  expect((await waggle(['status', '--fleet', listed(line)])).stdout).toContain('a token is required')
  expect((await waggle(['status', '--fleet', listed(`${line} ${token}`)])).status).toBe(0)
  expect((await waggle(['status', '--fleet', listed(`${line} ${token}`, 0o644)])).stderr).toContain(
    'chmod 600',
  )
})

test.each([
  ['', 'lists no node'],
  ['# only words', 'lists no node'],
  ['box', 'has no address for box'],
  ['a b c d', 'has more than'],
  ['box https://10.0.0.7:4190', 'l:1 has an address for box that begins with none of'],
  ['b/x ./x', 'begins with no name'],
  ['box ./a\nbox ./b', 'l:2 has box a second time'],
])('the list %j is refused', (text, why) => {
  expect(() => parseFleet(text, 'l')).toThrow(why)
})

test('a node that never answers has its time, and no more', async () => {
  const client = { snapshot: () => new Promise(() => {}) } as never
  const answer = await ask({ name: 'a', address: 'x', client }, async () => {})
  expect(answer).toMatchObject({ error: { message: 'no answer in time' } })
})

test('before the first answer there are dots', () => {
  expect(fleetText([], ['a'])[1]).toMatch(/^a +\.\.\. +- /)
})
