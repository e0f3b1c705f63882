// An agent with a tool, on Vercel's `ai`: the model calls a calculator before it answers. It is trained while it works.
//
//   node scripts/agents/calculator.mjs [groups] [attempts] [held-out prompts] [seed]        see docs/agents.md

import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { generateText, jsonSchema, stepCountIs, tool } from 'ai'
import { train } from './runner.mjs'

const number = { type: 'number' }
const multiply = tool({
  description: 'Multiplies two numbers.',
  inputSchema: jsonSchema({ type: 'object', properties: { a: number, b: number }, required: ['a', 'b'] }),
  execute: async ({ a, b }) => String(a * b),
})

const question = (a, b) => ({ role: 'user', content: `What is ${a} * ${b}?` })

/** A solved question, as turns of the conversation: a small model does as it sees done. */
const solved = (a, b) => {
  const [toolCallId, toolName, value] = [`call_${a}`, 'multiply', String(a * b)]
  return [
    question(a, b),
    { role: 'assistant', content: [{ type: 'tool-call', toolCallId, toolName, input: { a, b } }] },
    { role: 'tool', content: [{ type: 'tool-result', toolCallId, toolName, output: { type: 'text', value } }] },
    { role: 'assistant', content: `${a} * ${b} = ${value}` },
  ]
}

async function agent({ base_url: baseURL, api_key: apiKey }, a, b) {
  const model = createOpenAICompatible({ name: 'waggle', baseURL, apiKey }).chatModel('waggle')
  const messages = [...solved(31, 12), ...solved(17, 45), question(a, b)]
  return await generateText({ model, messages, tools: { multiply }, stopWhen: stepCountIs(2) })
}

/** Question n of 6640; odd ones are held out. */
const product = (n) => ({ id: `product ${n}`, a: 11 + ((n * 37) % 80), b: 13 + ((n * 59) % 83) })
const [groups = 50, attempts = 8, looks = 0, seed = 1] = process.argv.slice(2).map(Number)
let drawn = 400 * seed

await train('products', groups, {
  attempts,
  prompts: 2,
  draw: () => product(2 * (drawn++ % 3320)),
  heldOut: Array.from({ length: looks }, (_, i) => product(2 * i + 1)),
  async attempt(rollout, { a, b }) {
    const { text, steps } = await agent(rollout, a, b)
    const results = steps.flatMap(({ toolResults }) => toolResults.map(({ output }) => output))
    const called = results.some((result) => result !== 'NaN') ? 0.2 : 0
    const rightly = results.includes(String(a * b)) ? 0.4 : 0
    return called + rightly + (text.includes(String(a * b)) ? 0.4 : 0)
  },
})
