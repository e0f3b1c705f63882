// Coding agents, unchanged, with their own tools: each reads a file by a call of a tool in rollouts of a real node, which
// trains on them. A table says for each whether it got through, was trained on, and how far its log-probs are from their
// score.
//
//   node --conditions=waggle-source --import tsx scripts/agents/coding/run.ts MODEL [client ...]
//
// MODEL is a folder or a GGUF file of an instruct model, of which only tokenizer and chat template are used: a model of
// three million parameters learns what to answer by heart, because one that could work it out would read for hours. The
// clients are installed under .cache.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createOnnxEngine } from '../../../daemon/engine/onnx/index.ts'
import { loadModel, type Model } from '../../../daemon/policy/model.ts'
import { nodeDisk as disk } from '../../../daemon/store/node-disk.ts'
import { startNode } from '../../lab/nodes/process.ts'
import { CLIENTS, type Client, FILE, type Played, play, versionOf } from './clients.ts'
import { teach, writePupil } from './pupil.ts'
import { isRewarded, type Lesson, openTeacher, questionOf } from './teacher.ts'

const GROUP = 4
/** Prompts differ in times and ids, so each client shows its own so many times. */
const SHOWN = 2
/** Groups whose rewards are all the same teach nothing; then there is another. */
const TRIES = 3
/** A step on prompts of 19,000 tokens takes minutes on a busy core. */
const PATIENCE_MS = 900_000

const [given, ...asked] = process.argv.slice(2)
if (given === undefined) throw new Error('MODEL')
const names = asked.length > 0 ? asked : Object.keys(CLIENTS)
const home = mkdtempSync(join(tmpdir(), 'waggle-coding-'))
process.once('SIGTERM', () => process.exit(1))
process.once('exit', () => rmSync(home, { recursive: true, force: true }))

/** Asks as whoever runs the agents. */
// biome-ignore lint/suspicious/noExplicitAny: answers of several shapes
async function ask(url: string, token: string, body?: object): Promise<any> {
  const response = await fetch(url, {
    method: body ? 'POST' : 'GET',
    headers: { authorization: `Bearer ${token}` },
    ...(body ? { body: JSON.stringify(body) } : {}),
  })
  if (!response.ok) throw new Error(`${url}: ${response.status} ${await response.text()}`)
  return await response.json()
}

interface Attempt extends Played {
  rollout: string
  calls: Call[]
}
interface Call {
  prompt_token_ids: number[]
  token_ids: number[]
  logprobs: number[]
  weight_version: number
}
async function attempt(
  name: string,
  { url, token }: { url: string; token: string },
  body: object,
): Promise<Attempt> {
  const client = CLIENTS[name]!
  const { id, api_key: key } = await ask(`${url}/v1/rollouts`, token, { task: 'coding', ...body })
  const played = await play(client, questionOf(client), {
    ...{ url: `${url}/rollouts/${id}`, key, home: join(home, name) },
  })
  const { calls } = await ask(`${url}/v1/rollouts/${id}/calls`, token)
  return { ...played, rollout: id, calls }
}

const tell = (name: string, { code, calls, text }: Attempt): void =>
  console.log(
    `  ${name}: exit ${code}, prompts of ${calls.map((call) => call.prompt_token_ids.length).join(', ')} tokens, ${JSON.stringify(text.slice(-160))}`,
  )

async function lessonsOf(name: string, model: Model): Promise<Lesson[]> {
  const lessons: Lesson[] = []
  const teacher = await openTeacher(model, CLIENTS[name]!, (lesson) => lessons.push(lesson))
  for (let i = 0; i < SHOWN; i++)
    tell(name, await attempt(name, { url: teacher.url!, token: 'token' }, { mode: 'eval' }))
  await teacher.close()
  return lessons
}

/** The client ran the call: what is in the file came back to the model as a result. Without tools, it edited the file. */
function isThrough({ call }: Client, { calls, file }: Attempt, { tokenizer }: Model): boolean {
  if (!call) return file !== FILE
  return calls.some(({ prompt_token_ids: prompt }) => {
    const text = tokenizer.decodeCompletion(Int32Array.from(prompt))
    const at = text.lastIndexOf('<tool_response>')
    return at >= 0 && text.slice(at).includes('return a + b')
  })
}

interface Line {
  client: string
  through: string
  step: number
  furthest: number
  prompt: number
}

/** Groups of attempts in a node of their own, until it has trained. */
async function trainedOn(name: string, folder: string): Promise<Line> {
  const client = CLIENTS[name]!
  const own = join(home, `node-${name}`)
  const [model, listen] = [await loadModel(folder, { disk }), '127.0.0.1:4298']
  const settings = {
    ...{ 'model.path': folder, 'model.max_completion_tokens': 96, 'engine.threads': 1, tasks: '[]' },
    ...{ 'agents.listen': listen, 'agents.max_tokens': 24_000 },
    ...{ 'rollout.group_size': GROUP, 'training.batch_groups': 1, 'training.warm_up_steps': 0 },
  }
  const node = await startNode(own, [
    '--no-swarm',
    ...Object.entries(settings).flatMap(([key, value]) => ['--set', `${key}=${value}`]),
  ])
  const token = readFileSync(join(own, 'agents.token'), 'utf8').trim()
  const url = `http://${listen}`
  const attempts: Attempt[] = []
  for (let i = 0; i < TRIES; i++) {
    const rewards = new Set<number>()
    for (let j = 0; j < GROUP; j++) {
      const one = await attempt(name, { url, token }, { prompt_id: `${name} ${i}` })
      tell(name, one)
      const reward = Number(isRewarded(client, one))
      await ask(`${url}/v1/rollouts/${one.rollout}/reward`, token, { value: reward })
      rewards.add(reward)
      attempts.push(one)
    }
    if (rewards.size > 1) break
  }
  let step = 0
  const ended = performance.now()
  while (step === 0 && performance.now() - ended < PATIENCE_MS) {
    step = (await node.snapshot()).training?.step ?? 0
    await sleep(500)
  }
  const { groups, rows, dropped } = (await node.snapshot()).agents!
  console.log(
    `  ${name}: step ${step} after ${((performance.now() - ended) / 1000).toFixed(0)} s, ${groups} groups, ${rows} rows, dropped ${JSON.stringify(dropped)}`,
  )
  await node.stop()
  const through = attempts.filter((one) => isThrough(client, one, model)).length
  const line = {
    client: `${client.package} ${versionOf(client)}`,
    through: `${through} of ${attempts.length}`,
    ...{ step, furthest: await furthest(model, attempts) },
    prompt: Math.max(...attempts.flatMap(({ calls }) => calls.map((call) => call.prompt_token_ids.length))),
  }
  console.log(`  ${JSON.stringify(line)}`)
  return line
}

/** The largest distance of a log-prob from its score, of what was drawn before the first step. */
async function furthest(model: Model, attempts: readonly Attempt[]): Promise<number> {
  const engine = createOnnxEngine({ threads: 1 })
  await engine.open(model)
  let most = 0
  const calls = attempts.flatMap((one) => one.calls).filter((call) => call.weight_version === 0)
  for (const { prompt_token_ids: prompt, token_ids: tokens, logprobs } of calls) {
    const one = { conditioning: Int32Array.from(prompt), completion: Int32Array.from(tokens) }
    const [scores] = await engine.score({ temperature: 1, sequences: [one] })
    most = Math.max(most, ...logprobs.map((value, i) => Math.abs(value - scores!.logprobs[i]!)))
  }
  await engine.close()
  return most
}

const blank = join(home, 'blank')
await writePupil(resolve(given), blank)
const untaught = await loadModel(blank, { disk })
const lines: Line[] = []
for (const name of names) {
  console.log(`What ${name} asks, and what it does with the answers:`)
  const lessons = await lessonsOf(name, untaught)
  const taught = join(home, `taught-${name}`)
  await teach(blank, lessons, taught)
  lines.push(await trainedOn(name, taught))
}
console.log(
  '\n| | through, with a call | steps | longest prompt, tokens | log-probs from their score |\n|---|---|---|---|---|',
)
for (const { client, through, step, furthest: most, prompt } of lines)
  console.log(`| ${client} | ${through} | ${step} | ${prompt} | ${most.toExponential(1)} |`)
const isGood = lines.every(
  ({ through, step, furthest: most }) => !through.startsWith('0') && step > 0 && most < 1e-4,
)
process.exit(isGood ? 0 : 1)
