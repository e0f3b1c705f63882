// The examples of docs/agents.md as a user starts them, with their own clients and tools. The answers are scripted.

import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterEach, expect, it } from 'vitest'
import { ROOT } from '../docs/blocks.ts'
import { type TestGateway, TOKEN, testGateway } from './gateway.ts'

const run = promisify(execFile)
let g: TestGateway
afterEach(() => g.close())

/** Asks for `tool` until it has replied, then says what it replied. Two solved questions stand before the asked one. */
const withTool = (question: RegExp, call: (...found: string[]) => object) => (prompt: string) => {
  const [asked] = [...prompt.matchAll(question)].slice(-1)
  const result = /(?:tool\n|<tool_response>)([^<\n]*)(?:<\/tool_response>)?\nassistant\n$/.exec(prompt)
  return result ? `It is ${result[1]}.` : `<tool_call>${JSON.stringify(call(...asked!.slice(1)))}</tool_call>`
}

it.each<[string, string[], (prompt: string, at: { seed: number }) => string, RegExp]>([
  [
    'sums.mjs',
    ['4'],
    (prompt) =>
      `<answer>${/(\d+) \+ (\d+)/
        .exec(prompt)!
        .slice(1)
        .map(Number)
        .reduce((a, b) => a + b)}</answer>`,
    /4 groups {2}reward 1\.000/,
  ],
  ['fractions.mjs', ['4'], () => 'no idea', /4 groups {2}reward 0\.000/],
  [
    'calculator.mjs',
    ['2', '8', '3'],
    withTool(/What is (\d+) \* (\d+)\?/g, (a, b) => ({
      name: 'multiply',
      arguments: { a: Number(a), b: Number(b) },
    })),
    /before: held-out reward 1\.000, 3 of 3 solved[\s\S]*2 groups {2}reward 1\.000/,
  ],
  [
    'shop.mjs',
    ['2', '8', '3'],
    withTool(/What does the (\w+) cost\?/g, (thing) => ({ name: 'price', arguments: { thing } })),
    /before: held-out reward 1\.000, 3 of 3 solved[\s\S]*2 groups {2}reward 1\.000/,
  ],
])(
  '%s opens rollouts, plays and rewards them, and its groups arrive',
  async (script, args, write, tells) => {
    g = await testGateway({ write, groupSize: 8 })
    const { stdout } = await run(process.execPath, [`scripts/agents/${script}`, ...args], {
      cwd: ROOT,
      env: { ...process.env, WAGGLE_AGENTS: g.url, WAGGLE_AGENTS_TOKEN: TOKEN },
    })
    expect(stdout).toMatch(tells)
    expect(g.groups).toHaveLength(Number(args[0]))
    expect(g.groups.flatMap(({ rollouts }) => rollouts)).toHaveLength(8 * Number(args[0]))
  },
  60_000,
)
