// An agent whose tools come from an MCP server (shop_server.mjs), on the plain OpenAI client. It is trained while it works.
//
//   node scripts/agents/shop.mjs [groups] [attempts] [held-out prompts] [seed]        see docs/agents.md

import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { fileURLToPath } from 'node:url'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import OpenAI from 'openai'
import { train } from './runner.mjs'

const shop = new Client({ name: 'agent', version: '1.0.0' })
const server = fileURLToPath(new URL('shop_server.mjs', import.meta.url))
await shop.connect(new StdioClientTransport({ command: process.execPath, args: [server] }))
const { tools } = await shop.listTools()
const known = tools.map(({ name, description, inputSchema: { type, properties, required } }) => ({
  type: 'function',
  function: { name, description, parameters: { type, properties, required } },
}))
/** What the tool says; nothing if it was called wrongly. */
async function call(name, input) {
  const result = await shop.callTool({ name, arguments: input }).catch(() => ({ isError: true }))
  return result.isError ? undefined : result.content[0].text
}

const question = (thing) => ({ role: 'user', content: `What does the ${thing} cost?` })

/** A solved question, as turns of the conversation: a small model does as it sees done. */
async function solved(thing) {
  const price = await call('price', { thing })
  const asked = { id: `call_${thing}`, type: 'function', function: { name: 'price', arguments: JSON.stringify({ thing }) } }
  return [
    question(thing),
    { role: 'assistant', content: '', tool_calls: [asked] },
    { role: 'tool', tool_call_id: asked.id, content: price },
    { role: 'assistant', content: `The ${thing} costs ${price}.` },
  ]
}
const examples = [...(await solved('lamp')), ...(await solved('carpet'))]

/** Returns what the agent's tools said and its last answer. */
async function agent({ base_url: baseURL, api_key: apiKey }, thing) {
  const client = new OpenAI({ baseURL, apiKey })
  const messages = [...examples, question(thing)]
  const said = []
  for (let turn = 0; ; turn++) {
    const { choices } = await client.chat.completions.create({ model: 'waggle', messages, tools: known })
    const { message } = choices[0]
    const asked = message.tool_calls ?? []
    if (asked.length === 0 || turn > 0) return { said, text: message.content ?? '' }
    messages.push(message)
    for (const { id, function: wish } of asked) {
      const content = await call(wish.name, JSON.parse(wish.arguments))
      if (content) said.push(content)
      messages.push({ role: 'tool', tool_call_id: id, content: content ?? 'No such thing.' })
    }
  }
}

const things = 'apple basket bell boat book bottle brush bucket candle chair clock coat cup desk door drum fan flag fork glass glove hammer hat kettle key kite knife ladder mirror needle pen pencil piano pillow pipe plate pot radio ring rope ruler saw scarf shelf shirt shoe soap sofa spoon stamp stove table tent towel toy tray umbrella vase violin watch wheel'.split(' ')
const heldOut = things.filter((_, i) => i % 4 === 0).map((thing) => ({ id: thing, thing }))
const trained = things.filter((_, i) => i % 4 !== 0)
const [groups = 50, attempts = 8, looks = 0, seed = 1] = process.argv.slice(2).map(Number)
let drawn = 17 * seed

await train('prices', groups, {
  attempts,
  prompts: 2,
  draw: () => ({ id: `price ${drawn} of ${seed}`, thing: trained[drawn++ % trained.length] }),
  heldOut: heldOut.slice(0, looks),
  async attempt(rollout, { thing }) {
    const right = await call('price', { thing })
    const { said, text } = await agent(rollout, thing)
    const called = said.length > 0 ? 0.2 : 0
    return called + (said.includes(right) ? 0.4 : 0) + (text.includes(right) ? 0.4 : 0)
  },
})
await shop.close()
