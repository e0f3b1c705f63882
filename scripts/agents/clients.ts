// Unchanged clients of Anthropic, Ollama and OpenAI from npm and the Python package index, against a real node: with the
// serving key, and in a rollout. Prints for each whether it works, and checks that what a rollout recorded has the
// log-probs of its score to 1e-4. Ends with an error if anything fails.
//
//   node --import tsx scripts/agents/clients.ts [folder of npm packages] [interpreter of Python]
//
// Without arguments, installs them under .cache.

import { execFile, execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { createOnnxEngine } from '../../daemon/engine/onnx/index.ts'
import { loadModel } from '../../daemon/policy/model.ts'
import { nodeDisk as disk } from '../../daemon/store/node-disk.ts'
import { startNode } from '../lab/nodes/process.ts'
import { pythonWith } from './venv.ts'

const NPM = ['@anthropic-ai/sdk', 'ollama', 'openai']
const PYTHON = ['anthropic', 'ollama']
const MODEL = 'models/three-tasks'
const [GATEWAY, SERVING] = ['http://127.0.0.1:4297', 'http://127.0.0.1:4397']
const run = promisify(execFile)

function npmFolder(): string {
  const folder = '.cache/clients'
  if (existsSync(join(folder, 'node_modules'))) return folder
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), '{"private":true}')
  execFileSync('npm', ['install', '--silent', ...NPM], { cwd: folder, stdio: 'inherit' })
  return folder
}
const npm = resolve(process.argv[2] ?? npmFolder())
const python = resolve(process.argv[3] ?? pythonWith('clients-python', PYTHON))

const home = mkdtempSync(join(tmpdir(), 'waggle-clients-'))
process.once('exit', () => rmSync(home, { recursive: true, force: true }))
const settings = {
  'model.max_completion_tokens': '160',
  tasks: '[]',
  'agents.listen': GATEWAY.slice(7),
  'serve.listen': SERVING.slice(7),
  'model.path': MODEL,
}
const node = await startNode(home, [
  '--no-swarm',
  ...Object.entries(settings).flatMap(([key, value]) => ['--set', `${key}=${value}`]),
])
const secret = (name: string): string => readFileSync(join(home, name), 'utf8').trim()

interface Told {
  name: string
  works: boolean
  text: string
}
async function tryAll(url: string, key: string): Promise<Told[]> {
  const linesOf = ({ stdout }: { stdout: string }): Told[] =>
    stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Told)
  const script = resolve('scripts/agents/clients')
  return [
    ...linesOf(await run(process.execPath, [`${script}.mjs`, url, key], { cwd: npm })),
    ...linesOf(await run(python, [`${script}.py`, url, key])),
  ]
}

const token = secret('agents.token')
async function gateway(path: string, body?: object) {
  const response = await fetch(GATEWAY + path, {
    method: body ? 'POST' : 'GET',
    headers: { authorization: `Bearer ${token}` },
    ...(body ? { body: JSON.stringify(body) } : {}),
  })
  // biome-ignore lint/suspicious/noExplicitAny: answers of several shapes
  return (await response.json()) as any
}

const served = await tryAll(SERVING, secret('serve.key'))
const rollout = await gateway('/v1/rollouts', { prompt_id: 'clients' })
const trained = await tryAll(`${GATEWAY}/rollouts/${rollout.id}`, rollout.api_key)
const { calls } = (await gateway(`/v1/rollouts/${rollout.id}/calls`)) as {
  calls: {
    prompt_token_ids: number[]
    token_ids: number[]
    logprobs: number[]
    allowed?: number[]
    weight_version: number
  }[]
}
const { serving, training } = await node.snapshot()
await node.stop()

const engine = createOnnxEngine({ threads: 1 })
const model = await loadModel(MODEL, { disk })
await engine.open(model)
const scores = await engine.score({
  temperature: 1,
  sequences: calls.map((call) => ({
    conditioning: Int32Array.from(call.prompt_token_ids),
    completion: Int32Array.from(call.token_ids),
  })),
})
await engine.close()
const furthest = Math.max(
  ...calls.flatMap(({ logprobs, allowed }, i) =>
    // Where a form had a say, the log-prob is that of what it allowed, and the token is not trained on.
    logprobs.map((one, t) => ((allowed?.[t] ?? 1) < 0.99995 ? 0 : Math.abs(one - scores[i]!.logprobs[t]!))),
  ),
)

for (const [i, { name, works, text }] of served.entries()) {
  const other = trained[i]!
  const say = (one: boolean): string => (one ? 'yes' : 'NO')
  console.log(`${name}: served ${say(works)}, in a rollout ${say(other.works)}  ${JSON.stringify(text)}`)
  if (!works || !other.works) console.log(`  ${JSON.stringify([text, other.text])}`)
}
console.log(`${calls.length} calls recorded; largest distance of a log-prob from its score ${furthest}`)
console.log(`${serving!.answered} calls served; the node is at step ${training?.step ?? 0}`)
const isGood = [...served, ...trained].every(({ works }) => works) && furthest < 1e-4 && calls.length > 0
process.exit(isGood ? 0 : 1)
