// A real daemon trains from agents with every client, and a daemon that is killed loses no finished group.

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { type Daemon, killAll, ROOT, startDaemon, temporary } from './daemon.ts'

// biome-ignore lint/suspicious/noExplicitAny: plain JavaScript, as agents are written
const clients: any = await import(new URL('../agents/clients.mjs', import.meta.url).href)

interface Rollout {
  base_url: string
  api_key: string
}

/** What each kind of client gets as the answer to a question. */
const AGENTS: Record<string, (rollout: Rollout, question: string) => Promise<string>> = {
  async chat(rollout, content) {
    const messages = [{ role: 'user', content }]
    const { choices } = await clients.openai(rollout).chat.completions.create({ model: 'waggle', messages })
    return choices[0].message.content
  },
  async chat_streamed(rollout, content) {
    const request = { model: 'waggle', messages: [{ role: 'user', content }], tools: [ADD] }
    const { choices } = await clients.openai(rollout).chat.completions.stream(request).finalChatCompletion()
    return choices[0].message.content
  },
  async responses(rollout, input) {
    return (await clients.openai(rollout).responses.create({ model: 'waggle', input })).output_text
  },
  async responses_streamed(rollout, input) {
    const stream = clients.openai(rollout).responses.stream({ model: 'waggle', input })
    return (await stream.finalResponse()).output_text
  },
  ai: async (rollout, question) => (await clients.loopWithTool(rollout, question)).text,
  ai_streamed: async (rollout, question) => (await clients.streamWithVercel(rollout, question)).join(''),
  langchain: async (rollout, question) => (await clients.langchain(rollout).invoke(question)).content,
}
const ADD = {
  type: 'function',
  function: { name: 'add', description: 'adds two numbers', parameters: { type: 'object', properties: {} } },
}

let folder: Awaited<ReturnType<typeof temporary>>
beforeEach(async () => {
  folder = await temporary()
})
afterEach(async () => {
  await killAll()
  await folder.remove()
})

const SETTINGS = [
  `model.path=${join(ROOT, 'models/three-tasks')}`,
  'tasks=[]',
  'agents.listen=127.0.0.1:0',
  'checkpoint.every_steps=50',
  'training.warm_up_steps=0',
]

async function connect(home: string, node: Daemon) {
  const token = (await readFile(join(home, 'agents.token'), 'utf8')).trim()
  const { agents } = await node.client.snapshot()
  const post = async (path: string, body: object) => {
    const headers = { authorization: `Bearer ${token}` }
    const response = await fetch(agents!.listen + path, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    })
    if (response.status !== 200) throw new Error(await response.text())
    // biome-ignore lint/suspicious/noExplicitAny: answers of two shapes
    return (await response.json()) as any
  }
  /** Asks for a sum. An answer in its tags earns 1, and the shorter an answer, the more it earns. */
  const play = async (task: string, group: string, question: string, value?: number) => {
    const rollout = await post('/v1/rollouts', { task, group })
    const text = await AGENTS[task]!(rollout, question)
    const tagged = /<answer>\d+<\/answer>/.test(text) ? 1 : 0
    await post(`/v1/rollouts/${rollout.id}/reward`, { value: value ?? tagged + 1 / (1 + text.length) })
  }
  return { post, play }
}

it('trains on the rollouts of agents with every client, and a kill loses no finished group', async () => {
  const home = join(folder.path, 'home')
  const node = await startDaemon(home, { args: ['up', '--no-swarm'], settings: SETTINGS })
  const { post, play } = await connect(home, node)
  let done = false
  const kinds = Object.keys(AGENTS)
  const learnt = new Set<string>()
  const working = (async () => {
    for (let i = 0; !done; i++) {
      const kind = kinds[i % kinds.length]!
      const question = `Work out ${10 + (i % 80)} + 7`
      await Promise.all(Array.from({ length: 4 }, () => play(kind, `sum ${i}`, question)))
      const { groups } = await node.client.groups({ limit: 64 })
      for (const { task, used } of groups) if (used) learnt.add(task)
    }
  })()
  const trained = await node.until(
    'steps on rollouts of each client',
    ({ training }) => training!.step >= 2 && kinds.every((kind) => learnt.has(kind)),
    150_000,
  )
  done = true
  await working
  expect(trained.rollouts!.trainedOwn).toBeGreaterThanOrEqual(2)
  expect(trained.agents).toMatchObject({ rewarded: expect.any(Number), dropped: {} })
  expect(trained.agents!.groups).toBeGreaterThanOrEqual(2)

  // One group is less than a batch, so it waits in the pool.
  const waits = async (from: Daemon) => (await from.client.snapshot()).rollouts!.pool.own
  const before = await waits(node)
  const left = await post('/v1/rollouts', { group: 'never finished' })
  for (const value of [1, 0, 1, 0]) await play('chat', 'last', 'Work out 1 + 2', value)
  const [kept] = (await node.client.groups({ limit: 1 })).groups
  expect(kept).toMatchObject({ task: 'chat', rewards: [1, 0, 1, 0] })
  const after = await waits(node)
  await node.kill()
  const again = await startDaemon(home, { args: ['up', '--no-swarm'], settings: SETTINGS })
  const { agents } = await again.client.snapshot()
  expect(agents).toMatchObject({ open: 0, begun: 0 })
  // It is there again, unless a batch that was being trained on had just taken it.
  if (after > before) expect(await waits(again)).toBe(after)
  const gone = fetch(`${agents!.listen}/v1/chat/completions`, {
    ...{ method: 'POST', headers: { authorization: `Bearer ${left.api_key}` }, body: '{}' },
  })
  expect((await gone).status).toBe(401)
  await again.stop()
}, 400_000)
