// An agent with a tool, on Vercel's `ai`: the model may call a calculator before it answers. It is trained while it works.
//
//   node scripts/agents/calculator.mjs 50        with a node whose model calls tools; see docs/agents.md

import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { generateText, stepCountIs, tool } from 'ai'
import { z } from 'zod'

const gateway = process.env.WAGGLE_AGENTS ?? 'http://127.0.0.1:4290'
const token = process.env.WAGGLE_AGENTS_TOKEN ?? readFileSync(`${homedir()}/.local/state/waggle/agents.token`, 'utf8').trim()

const multiply = tool({
  description: 'Multiplies two numbers.',
  inputSchema: z.object({ a: z.number(), b: z.number() }),
  execute: async ({ a, b }) => String(a * b),
})

async function agent({ base_url: baseURL, api_key: apiKey }, prompt) {
  const model = createOpenAICompatible({ name: 'waggle', baseURL, apiKey }).chatModel('waggle')
  const { text } = await generateText({ model, prompt, tools: { multiply }, stopWhen: stepCountIs(4) })
  return text
}

const post = async (path, body) => {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const response = await fetch(gateway + path, { method: 'POST', headers, body: JSON.stringify(body) })
  if (response.status === 429) return post(path, body)
  if (!response.ok) throw new Error(await response.text())
  return response.json()
}

for (let i = 0; i < Number(process.argv[2] ?? 50); i++) {
  const [a, b] = [11 + (i % 80), 13 + ((i * 7) % 80)]
  const attempt = async () => {
    const rollout = await post('/v1/rollouts', { task: 'products', prompt_id: `${a} * ${b}` })
    const text = await agent(rollout, `What is ${a} * ${b}? Use the tool multiply.`)
    const value = text.includes(String(a * b)) ? 1 : 0
    await post(`/v1/rollouts/${rollout.id}/reward`, { value })
    return value
  }
  const rewards = await Promise.all(Array.from({ length: 8 }, attempt))
  console.log(`${a} * ${b}: rewards ${rewards.join(' ')}`)
}
