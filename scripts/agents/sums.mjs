// An agent that is trained while it works: it asks the model for sums with the plain OpenAI client.
//
//   node scripts/agents/sums.mjs 400        with a node that runs with agents.listen = "127.0.0.1:4290"
//
// The agent knows nothing of training: it gets a base URL and a key. What calls it opens rollouts and rewards them.

import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import OpenAI from 'openai'

const gateway = process.env.WAGGLE_AGENTS ?? 'http://127.0.0.1:4290'
const token = process.env.WAGGLE_AGENTS_TOKEN ?? readFileSync(`${homedir()}/.local/state/waggle/agents.token`, 'utf8').trim()

async function agent({ base_url: baseURL, api_key: apiKey }, question) {
  const client = new OpenAI({ baseURL, apiKey })
  const answer = await client.chat.completions.create({ model: 'waggle', messages: [{ role: 'user', content: question }] })
  return answer.choices[0].message.content
}

const post = async (path, body) => {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const response = await fetch(gateway + path, { method: 'POST', headers, body: JSON.stringify(body) })
  if (response.status === 429) return post(path, body)
  if (!response.ok) throw new Error(await response.text())
  return response.json()
}

async function attempt(prompt_id, question, right) {
  const rollout = await post('/v1/rollouts', { task: 'sums', prompt_id })
  const text = await agent(rollout, question)
  const value = text.includes(`<answer>${right}</answer>`) ? 1 : /<answer>\d+<\/answer>/.test(text) ? 0.2 : 0
  await post(`/v1/rollouts/${rollout.id}/reward`, { value })
  return value
}

const groups = Number(process.argv[2] ?? 100)
const recent = []
for (let done = 0; done < groups; done += 4) {
  const work = Array.from({ length: 4 }, (_, i) => {
    const [a, b] = [Math.floor(Math.random() * 90) + 10, Math.floor(Math.random() * 90) + 10]
    return Array.from({ length: 8 }, () => attempt(`sum ${done + i}`, `Work out ${a} + ${b}`, a + b))
  })
  recent.push(...(await Promise.all(work.flat())))
  const last = recent.slice(-256)
  console.log(`${done + 4} groups, mean reward ${(last.reduce((x, y) => x + y, 0) / last.length).toFixed(3)}`)
}
