import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { startControlServer } from '../../daemon/control/api/server.ts'
import type { EventBody } from '../../protocol/api/index.ts'
import { createScriptedNode } from '../control/scripted-node.ts'
import { freshHome, removeHomes, waggle } from './run-cli.ts'

afterAll(removeHomes)

const line = (body: EventBody, id = 1): string =>
  `${JSON.stringify({ v: 1, id, time: 1_700_000_000_000, ...body })}\n`
const said = (message: string, level: 'info' | 'warn' | 'debug' = 'info'): string =>
  line({ type: 'log', level, area: 'test', message })

function homeWith(log: string): string {
  const home = freshHome()
  mkdirSync(join(home, 'logs'))
  writeFileSync(join(home, 'logs', 'waggle.log'), log)
  return home
}

describe('logs', () => {
  test('shows the newest lines as text, without a daemon', async () => {
    const home = homeWith(
      [said('one'), said('two', 'warn'), said('hidden', 'debug'), said('three'), '{"cut'].join(''),
    )
    const { status, stdout } = await waggle(['logs', '--home', home, '-n', '2'])
    expect(status).toBe(0)
    expect(
      stdout
        .trim()
        .split('\n')
        .map((row) => row.slice(9)),
    ).toEqual(['warn  test: two', 'info  test: three'])
    expect((await waggle(['logs', '--home', home, '-n', '9', '--level', 'debug'])).stdout).toContain('hidden')
  })

  test('filters, and gives the raw lines with --json', async () => {
    const home = homeWith(said('apples') + said('pears', 'warn'))
    expect((await waggle(['logs', '--home', home, '--filter', 'PEAR'])).stdout).not.toContain('apples')
    const { stdout } = await waggle(['logs', '--home', home, '--json', '--level', 'warn'])
    expect(JSON.parse(stdout)).toMatchObject({ message: 'pears' })
  })

  test('is inert', async () => {
    const home = homeWith(said('\u001b]52;c;eA==\u0007\u202e'))
    expect((await waggle(['logs', '--home', home])).stdout).not.toMatch(/[\u0007\u001b\u202e]/)
  })

  test('without a log says so, and mistakes are usage errors', async () => {
    expect((await waggle(['logs', '--home', freshHome()])).stderr).toContain('There is no log yet')
    expect((await waggle(['logs', '--level', 'wran'])).stderr).toContain('Did you mean "warn"?')
    expect((await waggle(['logs', '-n', 'many'])).status).toBe(2)
  })

  test('-f continues with added lines', async () => {
    const home = homeWith(said('before'))
    let seen = ''
    void waggle(['logs', '-f', '--home', home], {
      onOutput: (all) => {
        seen = all
      },
    })
    await new Promise((resolve) => setTimeout(resolve, 50))
    appendFileSync(join(home, 'logs', 'waggle.log'), said('after'))
    await expect.poll(() => seen, { timeout: 3000 }).toContain('after')
    expect(seen).toContain('before')
  })
})

describe('events', () => {
  test('gives what is kept and ends, or follows until interrupted', async () => {
    const home = freshHome()
    const node = createScriptedNode()
    node.advance(5)
    const server = await startControlServer(
      { socket: join(home, 'control.sock'), run: 'r' },
      { node, clock: Date.now },
    )
    try {
      const kept = await waggle(['events', '--json', '--no-follow', '--type', 'step', '--home', home])
      expect(
        kept.stdout
          .trim()
          .split('\n')
          .map((row) => JSON.parse(row).step),
      ).toEqual([1, 2, 3, 4, 5])
      expect((await waggle(['events', '--no-follow', '--since', '5', '--home', home])).stdout).toBe('')
      let interrupt: (signal: NodeJS.Signals) => void = () => {}
      const followed = waggle(['events', '--home', home], {
        onSignal: (handler) => {
          interrupt = handler
          return () => {}
        },
        onOutput: () => interrupt('SIGINT'),
      })
      // What happened before it asks is not followed.
      const happening = setInterval(() => node.advance(1), 20)
      const { status, stdout } = await followed.finally(() => clearInterval(happening))
      expect([status, stdout.slice(9)]).toEqual([0, expect.stringMatching(/^debug step \d+ reward 0\.\d+\n/)])
    } finally {
      await server.close()
    }
  })
})
