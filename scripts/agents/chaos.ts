// Clients that misbehave, of agents and of serving, against a real daemon that trains meanwhile; then kill -9 under load.
// Ends with an error if anything is answered otherwise than docs/agents.md and docs/serving.md say, or if a finished group
// or a rating is lost.
//
//   node --import tsx scripts/agents/chaos.ts [seconds=120] [rollouts open at once=10000]

import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type NodeProcess, startNode } from '../lab/nodes/process.ts'
import { createServedChaos } from './chaos-serving.ts'

const seconds = Number(process.argv[2] ?? 120)
const home = mkdtempSync(join(tmpdir(), 'waggle-chaos-'))
process.once('exit', () => rmSync(home, { recursive: true, force: true }))
const DEADLINE_S = 60
const MAX_OPEN = Number(process.argv[3] ?? 10_000)
const GROUP = 4
const CLIENTS = 32

const start = (ownGroups: number): Promise<NodeProcess> =>
  startNode(home, [
    '--no-swarm',
    ...Object.entries({
      tasks: '[]',
      'agents.listen': '127.0.0.1:4293',
      'serve.listen': '127.0.0.1:4393',
      'agents.rollout_seconds': DEADLINE_S,
      'agents.learn': 'feedback',
      'agents.max_open': MAX_OPEN,
      'model.path': 'models/three-tasks',
      'rollout.group_size': GROUP,
      'training.batch_groups': ownGroups,
      'training.warm_up_steps': 0,
    }).flatMap(([key, value]) => ['--set', `${key}=${value}`]),
  ])

const GATEWAY = 'http://127.0.0.1:4293'
let token = ''
interface Answer {
  status: number
  headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: answers of many shapes
  body: any
}
async function send(path: string, body?: unknown, key = token, init: RequestInit = {}): Promise<Answer> {
  const response = await fetch(GATEWAY + path, {
    ...{ method: body === undefined ? 'GET' : 'POST', headers: { authorization: `Bearer ${key}` } },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    ...init,
  })
  const text = await response.text()
  return {
    status: response.status,
    headers: response.headers,
    body: text === '' ? undefined : JSON.parse(text),
  }
}

const counts: Record<string, number> = {}
const problems: string[] = []
const versions = new Set<number>()
function expectStatus(what: string, { status, body }: Answer, ...wanted: number[]): void {
  counts[`${what}: ${status}`] = (counts[`${what}: ${status}`] ?? 0) + 1
  if (!wanted.includes(status)) problems.push(`${what}: ${status} ${JSON.stringify(body).slice(0, 300)}`)
}

interface Rollout {
  id: string
  api_key: string
  call(i: number, init?: RequestInit): Promise<Answer>
  reward(value: unknown): Promise<Answer>
}
async function open(body: object): Promise<Rollout | undefined> {
  const answer = await send('/v1/rollouts', { task: 'chaos', ...body })
  expectStatus('open', answer, 200, 429)
  if (answer.status !== 200) return undefined
  const { id, api_key: key } = answer.body
  return {
    ...{ id, api_key: key },
    async call(i, init) {
      const messages = [{ role: 'user', content: `Work out ${i} + ${i % 7}` }]
      const made = await send(`/rollouts/${id}/v1/chat/completions`, { messages }, key, init)
      if (made.status === 200) versions.add(made.body.weight_version)
      return made
    },
    reward: (value) => send(`/v1/rollouts/${id}/reward`, typeof value === 'string' ? value : { value }, key),
  }
}

let serial = 0
/** Each client does one of these with each rollout. A group is of four rollouts that begin one after another. */
const BEHAVIOURS: Record<string, (rollout: Rollout, i: number) => Promise<void>> = {
  async finishes(rollout, i) {
    expectStatus('call', await rollout.call(i), 200)
    expectStatus('reward', await rollout.reward(i % 2), 200)
  },
  async 'dies in the middle'(rollout, i) {
    await rollout.call(i, { signal: AbortSignal.timeout(5 + (i % 40)) }).catch(() => {})
  },
  async 'hangs up and tries again'(rollout, i) {
    await rollout.call(i, { signal: AbortSignal.timeout(5 + (i % 40)) }).catch(() => {})
    const headers = { authorization: `Bearer ${rollout.api_key}`, 'x-stainless-retry-count': '1' }
    const again = await rollout.call(i, { headers })
    expectStatus('retry', again, 200)
    const { body } = await send(`/v1/rollouts/${rollout.id}/calls`, undefined, rollout.api_key)
    const same =
      JSON.stringify(body.calls[0]?.token_ids) === JSON.stringify(again.body.choices?.[0].token_ids)
    if (body.calls.length !== 1 || !same) problems.push(`a retry made ${body.calls.length} calls`)
    expectStatus('reward', await rollout.reward(i % 2), 200)
  },
  async 'rewards twice'(rollout, i) {
    expectStatus('call', await rollout.call(i), 200)
    const [first, second] = await Promise.all([rollout.reward(i % 2), rollout.reward(i % 2)])
    expectStatus('reward', first, 200)
    expectStatus('same reward again', second, 200)
    expectStatus('another reward', await rollout.reward(0.5), 409)
  },
  async 'sends no number'(rollout, i) {
    expectStatus('call', await rollout.call(i), 200)
    for (const wrong of ['{"value":NaN}', '{"value":1e308}', '{"value":1e999}', '{"value":"1"}', '{'])
      expectStatus('wrong reward', await rollout.reward(wrong), 400)
    expectStatus('reward', await rollout.reward(i % 2), 200)
  },
  async 'never finishes'(rollout, i) {
    expectStatus('call', await rollout.call(i), 200)
  },
  async 'is late'(rollout, i) {
    expectStatus('call', await rollout.call(i), 200)
    late.push(rollout)
  },
  async steals(rollout, i) {
    const other = stolen.at(-1)
    stolen.push(rollout)
    if (other) {
      expectStatus(
        'another rollout',
        await send(`/v1/rollouts/${other.id}`, undefined, rollout.api_key),
        403,
        404,
      )
      const path = `/v1/rollouts/${other.id}/reward`
      expectStatus("another's reward", await send(path, { value: 9 }, rollout.api_key), 403)
      expectStatus('open with a rollout key', await send('/v1/rollouts', {}, rollout.api_key), 403)
    }
    expectStatus('call', await rollout.call(i), 200)
    expectStatus('reward', await rollout.reward(i % 2), 200)
  },
}
const NAMES = Object.keys(BEHAVIOURS)
const late: Rollout[] = []
const stolen: Rollout[] = []

async function client(isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    const i = serial++
    const rollout = await open({ prompt_id: `prompt ${Math.floor(i / GROUP)}` })
    if (rollout) await BEHAVIOURS[NAMES[(i * 5) % NAMES.length]!]!(rollout, i)
  }
}

function tell(what: string): void {
  console.log(what)
  for (const one of problems.slice(0, 10)) console.log(`  PROBLEM ${one}`)
  if (problems.length > 0) process.exit(1)
}

// ── Misbehaviour while the node trains ──────────────────────────────────────
let node = await start(4)
token = readFileSync(join(home, 'agents.token'), 'utf8').trim()
const end = performance.now() + seconds * 1000
const isOver = (): boolean => performance.now() > end
const served = createServedChaos({
  ...{ url: 'http://127.0.0.1:4393', gateway: GATEWAY },
  key: readFileSync(join(home, 'serve.key'), 'utf8').trim(),
  others: () => [token, ...stolen.slice(-1).map((rollout) => rollout.api_key)],
  rollout: () => stolen.at(-1)?.id,
  expect: (what, status, ...wanted) =>
    expectStatus(what, { status, headers: new Headers(), body: undefined }, ...wanted),
  problem: (what) => void problems.push(what),
})
await Promise.all([
  ...Array.from({ length: CLIENTS }, () => client(isOver)),
  ...Array.from({ length: 8 }, () => served.client(isOver)),
])
await served.flood()
served.close()
await sleep((DEADLINE_S + 3) * 1000)
for (const rollout of late) expectStatus('late reward', await rollout.reward(1), 410, 401)
const { training, agents, serving } = await node.snapshot()
if (serving!.running + serving!.waiting > 0)
  problems.push(`${serving!.running} served calls still run, ${serving!.waiting} wait`)
if (agents!.open !== 0) problems.push(`${agents!.open} rollouts are still open after their deadline`)
if ((training?.step ?? 0) < 2) problems.push('the node did not train meanwhile')
console.log(counts)
tell(
  `${serial} rollouts of ${CLIENTS} clients; step ${training?.step}; versions ${Math.min(...versions)} to ${Math.max(...versions)}; ${agents!.groups} groups; dropped ${JSON.stringify(agents!.dropped)}; served ${serving!.answered}, hung up ${serving!.abandoned}, refused ${serving!.refused}`,
)

// ── As many open rollouts as there may be ───────────────────────────────────
let opened = 0
const openMany = async (): Promise<void> => {
  while (opened < MAX_OPEN) {
    opened += 1
    const answer = await send('/v1/rollouts', { task: 'chaos', mode: 'eval', metadata: { i: opened } })
    expectStatus('one of many', answer, 200)
  }
}
// All at once is more than the deadline allows on a slow machine, so those that are gone by then are opened again.
await Promise.all(Array.from({ length: CLIENTS }, openMany))
const { agents: full, machine } = await node.snapshot()
while (opened < 3 * MAX_OPEN) {
  const answer = await send('/v1/rollouts', { task: 'chaos', mode: 'eval' })
  if (answer.status === 429) {
    if (answer.headers.get('retry-after') === null) problems.push('429 without Retry-After')
    break
  }
  opened += 1
}
tell(`${full!.open} rollouts open at once; memory ${((machine?.rssBytes ?? 0) / 1e6).toFixed(0)} MB`)
await node.stop()

// ── kill -9 under load, with a batch so large that nothing is trained on ────
node = await start(512)
const before = (await node.snapshot()).rollouts!.pool.own
const acknowledged = new Set<number>()
let isKilled = false
const finish = async (): Promise<void> => {
  while (!isKilled) {
    const group = serial++
    const rollouts = await Promise.all(
      Array.from({ length: GROUP }, () => open({ prompt_id: `kill ${group}` })),
    )
    const statuses = await Promise.all(
      rollouts.map(async (rollout, i) => {
        if ((await rollout?.call(group))?.status !== 200) return 0
        return (await rollout!.reward(i % 2)).status
      }),
    )
    if (statuses.every((status) => status === 200)) acknowledged.add(group)
  }
}
const rated = new Set<string>()
const rateOn = async (): Promise<void> => {
  for (let i = 0; !isKilled; i++) {
    const id = await served.rate(i)
    if (id) rated.add(id.replace(/^.*-/, ''))
  }
}
const leftOpen = (await open({ prompt_id: 'left open' }))!
const working = [finish, finish, finish, finish, finish, finish, rateOn, rateOn].map((work) =>
  work().catch(() => {}),
)
await sleep(15_000)
const { pid } = (await node.snapshot()).node
process.kill(pid, 'SIGKILL')
isKilled = true
await Promise.all(working)
node = await start(512)
const after = (await node.snapshot()).rollouts!.pool.own
if (after < before + acknowledged.size)
  problems.push(
    `${before} groups waited and ${acknowledged.size} more were acknowledged, but ${after} are there`,
  )
const { conversations } = await node.conversations()
const kept = new Set(conversations.flatMap(({ id, reward }) => (reward === undefined ? [] : [id])))
const lost = [...rated].filter((id) => !kept.has(id))
if (lost.length > 0 || rated.size === 0) problems.push(`${lost.length} of ${rated.size} ratings are lost`)
expectStatus(
  'rating of another key after the kill',
  await send('/v1/feedback', { id: [...rated][0], reward: 'up' }),
  403,
)
if ((await served.rate(0)) === undefined) problems.push('nothing is served after the kill')
const gone = await leftOpen.call(1)
expectStatus('call after the kill', gone, 401)
const looked = await send(`/v1/rollouts/${leftOpen.id}`)
expectStatus('rollout after the kill', looked, 404)
tell(
  `kill -9: ${acknowledged.size} groups were acknowledged, ${after - before} are there, and all of ${rated.size} ratings; an open rollout is told "${gone.body.error.message}" and "${looked.body.error.message}"`,
)
await node.stop()
process.exit(0)
