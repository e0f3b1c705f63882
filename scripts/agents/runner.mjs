// Runs an agent again and again and rewards it. The agent itself knows nothing of this: it gets a URL and a key.

import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'

const gateway = process.env.WAGGLE_AGENTS ?? 'http://127.0.0.1:4290'
const file = `${homedir()}/.local/state/waggle/agents.token`
const token = process.env.WAGGLE_AGENTS_TOKEN ?? tokenIn(file)

function tokenIn(path) {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch {
    console.error(`no token in ${path}: is a node running that serves agents? With another --home, set WAGGLE_AGENTS_TOKEN.`)
    process.exit(1)
  }
}

async function post(path, body) {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const response = await fetch(gateway + path, { method: 'POST', headers, body: JSON.stringify(body) })
  if (response.status === 429) return post(path, body)
  if (!response.ok) throw new Error(await response.text())
  return response.json()
}

/**
 * `draw` makes a prompt with an `id`; `attempt(rollout, prompt)` lets the agent work and returns its reward: a number, or
 * an object as the gateway takes it. Eight attempts at each prompt, four prompts side by side.
 */
export async function train(task, groups, { draw, attempt }) {
  const recent = []
  const one = async (prompt) => {
    const rollout = await post('/v1/rollouts', { task, prompt_id: prompt.id })
    const reward = await attempt(rollout, prompt)
    const body = typeof reward === 'number' ? { value: reward } : reward
    await post(`/v1/rollouts/${rollout.id}/reward`, body)
    return body.value
  }
  for (let done = 4; done <= groups; done += 4) {
    const prompts = Array.from({ length: 4 }, draw)
    recent.push(...(await Promise.all(prompts.flatMap((prompt) => Array.from({ length: 8 }, () => one(prompt))))))
    recent.splice(0, Math.max(0, recent.length - 512))
    const mean = recent.reduce((x, y) => x + y, 0) / recent.length
    console.log(`${Math.round(performance.now() / 1000)} s  ${done} groups  mean reward ${mean.toFixed(3)}`)
  }
}
