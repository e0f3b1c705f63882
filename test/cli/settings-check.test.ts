// Settings that are right one by one and keep a node from starting together: `waggle config check` tells them, so that a
// restart does not stop a node that works.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { freshHome, removeHomes, waggle } from './run-cli.ts'

afterAll(removeHomes)

function check(config: string, env: Record<string, string> = {}) {
  const home = freshHome()
  writeFileSync(join(home, 'config.toml'), config)
  return waggle(['config', 'check', '--home', home], { env })
}

const SERVER = 'url = "http://127.0.0.1:1"'

test.each([
  ['vllm without its address', 'kind = "vllm"', /sampler\.kind = "vllm" needs sampler\.url/],
  ['sglang without its address', 'kind = "sglang"', /sampler\.kind = "sglang" needs sampler\.url/],
  ['llama-server without its address', 'kind = "llama-server"', /"llama-server" needs sampler\.url/],
  [
    'llama-server without a command that restarts it',
    `kind = "llama-server"\n${SERVER}`,
    /"llama-server" needs sampler\.restart/,
  ],
  ['node-llama-cpp without a GGUF file', 'kind = "node-llama-cpp"', /needs the model as a GGUF file/],
  [
    'a server beside a model of which all is trained',
    `kind = "vllm"\n${SERVER}\n[training]\nmethod = "full"`,
    /as a LoRA adapter, and this node trains all parameters/,
  ],
  [
    'a server whose key is in no variable',
    `kind = "vllm"\n${SERVER}\nkey_variable = "VLLM_KEY"`,
    /the environment variable VLLM_KEY, .* is not set/,
  ],
])('config check refuses %s', async (_, sampler, message) => {
  const { status, stderr } = await check(`[sampler]\n${sampler}\n`)
  expect([status, stderr]).toEqual([4, expect.stringMatching(message)])
  expect(stderr).toMatch(/config\.toml:2 {2}sampler\.kind/)
})

test('config check accepts a server that has what it needs', async () => {
  const config = `[sampler]\nkind = "vllm"\n${SERVER}\nkey_variable = "VLLM_KEY"\n`
  expect((await check(config, { VLLM_KEY: 'x' })).status).toBe(0)
})

test.each(['control', 'serve', 'agents'])(
  'config check refuses an address of %s that other machines reach and nothing allows',
  async (section) => {
    const { status, stderr } = await check(`[${section}]\nlisten = "0.0.0.0:4390"\n`)
    expect([status, stderr]).toEqual([
      4,
      expect.stringMatching(
        new RegExp(`config\\.toml:2 {2}${section}\\.listen .*can be reached by other machines`),
      ),
    ])
  },
)

test('config check accepts an address that is public on purpose', async () => {
  expect((await check('[serve]\nlisten = "0.0.0.0:4390"\npublic = true\n')).status).toBe(0)
})

test.each([
  ['serve', '127.0.0.1:4190'],
  ['agents', 'localhost:4190'],
])('config check refuses %s at the address of the control API', async (section, listen) => {
  const { status, stderr } = await check(
    `[control]\nlisten = "127.0.0.1:4190"\n[${section}]\nlisten = "${listen}"\n`,
  )
  expect([status, stderr]).toEqual([
    4,
    expect.stringMatching(new RegExp(`${section}\\.listen {2}is the address of control\\.listen, too`)),
  ])
})

test('config check accepts two servers at any free port', async () => {
  expect((await check('[control]\nlisten = "127.0.0.1:0"\n[serve]\nlisten = "127.0.0.1:0"\n')).status).toBe(0)
})
