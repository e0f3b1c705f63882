// What `waggle top` gives the screen, and what it says afterwards. The screen itself is in test/tui.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { afterAll, beforeEach, expect, test, vi } from 'vitest'
import { run } from '../../daemon/cli/commands/watch/top.ts'
import type { Context } from '../../daemon/cli/contract.ts'
import type { runTop } from '../../tui/main.ts'
import { contextFor, freshHome, removeHomes } from './run-cli.ts'

const shown = vi.fn<typeof runTop>(async () => 0)
vi.mock('../../tui/main.ts', () => ({ runTop: (...given: Parameters<typeof runTop>) => shown(...given) }))

afterAll(removeHomes)
beforeEach(() => shown.mockClear())

/** In a terminal where nobody types. */
function inTerminal(options: Record<string, string>): { context: Context; said: string[] } {
  const context = contextFor(options)
  const said: string[] = []
  const stdin = Object.assign(new PassThrough(), { isTTY: true }) as unknown as NodeJS.ReadStream
  const stdout = { isTTY: true, write: () => true }
  return {
    said,
    context: { ...context, say: (line) => said.push(line), io: { ...context.io, stdin, stdout } },
  }
}

test('a command on the screen does not read the keys, and ends', async () => {
  const home = freshHome()
  const replay = join(home, 'run.jsonl')
  writeFileSync(replay, '')
  expect(await run(inTerminal({ home, replay }).context)).toBe(0)
  const { onCommand } = shown.mock.calls[0]![1]
  const { status } = await onCommand('join -')
  expect(status).toBe(2)
})

test('who watched a daemon elsewhere is not told to stop the one here', async () => {
  for (const on of [undefined, 'unix:///elsewhere.sock']) {
    const { context, said } = inTerminal({ home: freshHome(), ...(on && { on }) })
    const health = async () => ({}) as never
    expect(await run({ ...context, client: { ...context.client, health } })).toBe(0)
    expect(said.join()).toMatch(
      on ? /^The daemon keeps running\.$/ : /running; stop it with `\S.* stop --home /,
    )
  }
})

test('without a terminal it says what to type instead, once', async () => {
  const refused = run(contextFor({ home: freshHome() }))
  await expect(refused).rejects.toMatchObject({
    hint: expect.stringMatching(/^`\S.* status --watch --home /),
  })
})
