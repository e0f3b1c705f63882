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

const mean = (values) => values.reduce((x, y) => x + y, 0) / values.length
const seconds = () => Math.round(performance.now() / 1000)

/**
 * `draw` makes a prompt with an `id`; `attempt(rollout, prompt)` lets the agent work and returns its reward: a number, or
 * an object as the gateway takes it. `attempts` at each prompt, as many as the node's groups have, and `prompts` side by
 * side. With `heldOut`, prompts that are never trained on, it tells the mean reward of one attempt at each before and after.
 */
export async function train(task, groups, { draw, attempt, attempts = 8, prompts: beside = 4, heldOut = [] }) {
  const recent = []
  const one = async (prompt, mode) => {
    const rollout = await post('/v1/rollouts', { task, prompt_id: prompt.id, mode })
    const reward = await attempt(rollout, prompt)
    const body = typeof reward === 'number' ? { value: reward } : reward
    await post(`/v1/rollouts/${rollout.id}/reward`, body)
    return body.value
  }
  const look = async (when) => {
    if (heldOut.length === 0) return
    const rewards = await Promise.all(heldOut.map((prompt) => one(prompt, 'eval')))
    const whole = rewards.filter((reward) => reward >= 1).length
    console.log(`${seconds()} s  ${when}: held-out reward ${mean(rewards).toFixed(3)}, ${whole} of ${rewards.length} solved`)
  }
  await look('before')
  for (let done = beside; done <= groups; done += beside) {
    const prompts = Array.from({ length: beside }, draw)
    const all = prompts.flatMap((prompt) => Array.from({ length: attempts }, () => one(prompt, 'train')))
    const rewards = await Promise.all(all)
    recent.push(...rewards)
    recent.splice(0, Math.max(0, recent.length - 512))
    const [now, then] = [rewards, recent].map((some) => mean(some).toFixed(3))
    console.log(`${seconds()} s  ${done} groups  reward ${now}  mean reward ${then}`)
  }
  await look('after')
}
