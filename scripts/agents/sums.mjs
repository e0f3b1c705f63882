// An agent that is trained while it works: it asks the model for sums with the plain OpenAI client.
//
//   node scripts/agents/sums.mjs 1000        with a node that serves agents; see docs/agents.md

import OpenAI from 'openai'
import { train } from './runner.mjs'

async function agent({ base_url: baseURL, api_key: apiKey }, question) {
  const client = new OpenAI({ baseURL, apiKey })
  const answer = await client.chat.completions.create({ model: 'waggle', messages: [{ role: 'user', content: question }] })
  return answer.choices[0].message.content
}

const digit = () => Math.floor(Math.random() * 10)
let drawn = 0

await train('sums', Number(process.argv[2] ?? 1000), {
  draw: () => ({ id: `sum ${Date.now()} ${drawn++}`, a: digit(), b: digit() }),
  async attempt(rollout, { a, b }) {
    const text = await agent(rollout, `Work out ${a} + ${b}`)
    return text.includes(`<answer>${a + b}</answer>`) ? 1 : /<answer>\d+<\/answer>/.test(text) ? 0.2 : 0
  },
})
