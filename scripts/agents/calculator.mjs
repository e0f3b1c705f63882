// An agent with a tool, on Vercel's `ai`: the model may call a calculator before it answers. It is trained while it works.
//
//   node scripts/agents/calculator.mjs 50        with a node whose model calls tools; see docs/agents.md

import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { generateText, stepCountIs, tool } from 'ai'
import { z } from 'zod'
import { train } from './runner.mjs'

const multiply = tool({
  description: 'Multiplies two numbers.',
  inputSchema: z.object({ a: z.number(), b: z.number() }),
  execute: async ({ a, b }) => String(a * b),
})

async function agent({ base_url: baseURL, api_key: apiKey }, prompt) {
  const model = createOpenAICompatible({ name: 'waggle', baseURL, apiKey }).chatModel('waggle')
  return await generateText({ model, prompt, tools: { multiply }, stopWhen: stepCountIs(3), maxOutputTokens: 48 })
}

let drawn = 0

await train('products', Number(process.argv[2] ?? 50), {
  draw() {
    const [a, b] = [11 + (drawn % 80), 13 + ((drawn * 7) % 80)]
    return { id: `product ${Date.now()} ${drawn++}`, a, b }
  },
  async attempt(rollout, { a, b }) {
    const { text, steps } = await agent(rollout, `What is ${a} * ${b}? Use the tool multiply.`)
    const results = steps.flatMap(({ toolResults }) => toolResults)
    const isRight = text.includes(String(a * b))
    const called = results.length > 0 ? 0.3 : 0
    const rightly = results.some(({ output }) => output === String(a * b)) ? 0.3 : 0
    return called + rightly + (isRight ? 0.4 : 0)
  },
})
