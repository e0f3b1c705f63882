// Unchanged clients from npm, as agents use them. Plain JavaScript: each gets a rollout's base URL and key, no more.

import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { ChatOpenAI } from '@langchain/openai'
import { generateText, stepCountIs, streamText, tool } from 'ai'
import OpenAI from 'openai'
import { z } from 'zod'

export const openai = ({ base_url: baseURL, api_key: apiKey }, more = {}) => new OpenAI({ baseURL, apiKey, ...more })

export const chatModel = ({ base_url: baseURL, api_key: apiKey }) =>
  createOpenAICompatible({ name: 'waggle', baseURL, apiKey }).chatModel('waggle')

export const langchain = ({ base_url: baseURL, api_key: apiKey }) =>
  new ChatOpenAI({ model: 'waggle', apiKey, configuration: { baseURL } })

const calculator = () =>
  tool({
    description: 'adds two numbers',
    inputSchema: z.object({ a: z.number(), b: z.number() }),
    execute: async ({ a, b }) => String(a + b),
  })

/** Vercel's loop: it calls the tool and asks again, until the model answers without one. */
export async function loopWithTool(rollout, prompt) {
  const { text, steps } = await generateText({
    model: chatModel(rollout),
    tools: { add: calculator() },
    stopWhen: stepCountIs(4),
    prompt,
  })
  return { text, results: steps.flatMap(({ toolResults }) => toolResults.map(({ output }) => output)) }
}

export async function streamWithVercel(rollout, prompt) {
  const pieces = []
  for await (const piece of streamText({ model: chatModel(rollout), prompt }).textStream) pieces.push(piece)
  return pieces
}
