// Coding agents from npm, unchanged and without a terminal, each in a rollout of a real node: whether it gets its answers,
// how large its first prompt is, how many rows its calls are, and how far their log-probs are from their score.
//
//   node --conditions=waggle-source --import tsx scripts/agents/coding.ts MODEL [agent ...]
//
// MODEL is a folder or a GGUF file of an instruct model. `--tiny` takes two layers and random embeddings instead, with
// MODEL's tokenizer and template and room for 65,536 tokens: for what goes over the line, without hours of reading. The
// agents are installed under .cache.

import { execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parameterShapes } from '../../daemon/engine/decoder.ts'
import { createOnnxEngine } from '../../daemon/engine/onnx/index.ts'
import { randomStream } from '../../daemon/host/random.ts'
import { specOf } from '../../daemon/policy/architectures/index.ts'
import { modelSource } from '../../daemon/policy/files/model-source.ts'
import { loadModel } from '../../daemon/policy/model.ts'
import { encodeSafetensors } from '../../daemon/policy/safetensors/read.ts'
import { writeFileWhole } from '../../daemon/store/atomic.ts'
import { nodeDisk as disk } from '../../daemon/store/node-disk.ts'
import { startNode } from '../lab/nodes/process.ts'

interface At {
  /** Of the rollout, without /v1. */
  url: string
  key: string
  home: string
}
interface Agent {
  npm: string
  bin: string
  args: readonly string[]
  env?(at: At): Record<string, string>
  /** Settings, by file in its home. */
  files?(at: At): Record<string, string | object>
}

const QUESTION = 'What does add.py do? Answer in one sentence.'
const chat = ({ url, key }: At) => ({
  OPENAI_BASE_URL: `${url}/v1`,
  OPENAI_API_KEY: key,
  OPENAI_MODEL: 'waggle',
})
const AGENTS: Readonly<Record<string, Agent>> = {
  claude: {
    npm: '@anthropic-ai/claude-code',
    bin: 'claude',
    args: ['-p', QUESTION],
    env: ({ url, key }) => ({
      ...{ ANTHROPIC_BASE_URL: url, ANTHROPIC_AUTH_TOKEN: key, ANTHROPIC_MODEL: 'waggle' },
      ...{ ANTHROPIC_DEFAULT_HAIKU_MODEL: 'waggle', CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1' },
    }),
  },
  codex: {
    npm: '@openai/codex',
    bin: 'codex',
    args: ['exec', '--skip-git-repo-check', QUESTION],
    env: ({ key, home }) => ({ WAGGLE_KEY: key, CODEX_HOME: home }),
    files: ({ url }) => ({
      'config.toml': `model = "waggle"\nmodel_provider = "waggle"\n[model_providers.waggle]\nname = "waggle"\nbase_url = "${url}/v1"\nenv_key = "WAGGLE_KEY"\nwire_api = "responses"\n`,
    }),
  },
  opencode: {
    npm: 'opencode-ai',
    bin: 'opencode',
    args: ['run', '-m', 'waggle/waggle', QUESTION],
    files: ({ url, key }) => ({
      'work/opencode.json': {
        provider: {
          waggle: {
            ...{ npm: '@ai-sdk/openai-compatible', name: 'waggle', models: { waggle: { name: 'waggle' } } },
            options: { baseURL: `${url}/v1`, apiKey: key },
          },
        },
      },
    }),
  },
  pi: {
    npm: '@mariozechner/pi-coding-agent',
    bin: 'pi',
    args: ['--provider', 'waggle', '--model', 'waggle', '-p', QUESTION],
    files: ({ url, key }) => ({
      '.pi/agent/models.json': {
        providers: {
          waggle: {
            baseUrl: `${url}/v1`,
            apiKey: key,
            api: 'openai-completions',
            models: [{ id: 'waggle' }],
          },
        },
      },
    }),
  },
  qwen: {
    npm: '@qwen-code/qwen-code',
    bin: 'qwen',
    args: ['--auth-type', 'openai', '-p', QUESTION],
    env: chat,
  },
}

const isTiny = process.argv.includes('--tiny')
const [given, ...asked] = process.argv.slice(2).filter((one) => !one.startsWith('--'))
const home = mkdtempSync(join(tmpdir(), 'waggle-coding-'))
process.once('exit', () => rmSync(home, { recursive: true, force: true }))
const path = isTiny ? await tinyModel(resolve(given!)) : resolve(given!)

async function tinyModel(like: string): Promise<string> {
  const folder = join(home, 'tiny')
  mkdirSync(folder)
  const source = await modelSource(like, { disk })
  const { config: whole, generation } = await source.files()
  const config = {
    ...whole,
    ...{ hidden_size: 64, intermediate_size: 128, num_hidden_layers: 2, num_attention_heads: 2 },
    ...{ num_key_value_heads: 1, head_dim: 32, max_position_embeddings: 65_536 },
  }
  const random = randomStream(1, 'tiny')
  const [width, end] = [
    config.hidden_size,
    Number([generation?.eos_token_id ?? whole.eos_token_id].flat()[0]),
  ]
  /** Layers add nothing, and one dimension tells the last token of an answer, which is drawn at about every 13th place. */
  const weight = (name: string, i: number): number => {
    if (name.includes('norm')) return 1
    if (/o_proj|down_proj/.test(name)) return 0
    if (name.includes('embed_tokens') && i % width === 0) return i / width === end ? 2.2 : 1
    return (random() - 0.5) / 4
  }
  const tensors = Object.fromEntries(
    [...parameterShapes(specOf(config))].map(([name, shape]) => {
      const values = new Float32Array(shape.reduce((a, b) => a * b, 1))
      return [name, { shape, dtype: 'F32' as const, data: () => values.map((_, i) => weight(name, i)) }]
    }),
  )
  for (const [file, content] of [
    ...(await source.copies()),
    ['config.json', JSON.stringify(config)] as const,
    [
      'model.safetensors',
      encodeSafetensors({ tensors, metadata: { format: 'pt' }, finite: true }).content,
    ] as const,
  ])
    await writeFileWhole({ path: join(folder, file), content }, { disk })
  return folder
}

function installed({ npm, bin }: Agent): string {
  const folder = join('.cache/coding', bin)
  const binary = join(folder, 'node_modules/.bin', bin)
  if (!existsSync(binary)) {
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, 'package.json'), '{"private":true}')
    execFileSync('npm', ['install', '--silent', npm], { cwd: folder, stdio: 'inherit' })
  }
  return resolve(binary)
}

const GATEWAY = 'http://127.0.0.1:4298'
const settings = {
  'model.path': path,
  'model.max_completion_tokens': '48',
  tasks: '[]',
  'agents.listen': GATEWAY.slice(7),
  'training.method': 'lora',
  'rollout.group_size': '2',
  'training.batch_groups': '1',
  ...(isTiny ? { 'agents.max_tokens': '20000' } : {}),
}
const node = await startNode(join(home, 'node'), [
  '--no-swarm',
  ...Object.entries(settings).flatMap(([key, value]) => ['--set', `${key}=${value}`]),
])
const token = readFileSync(join(home, 'node/agents.token'), 'utf8').trim()
// biome-ignore lint/suspicious/noExplicitAny: answers of several shapes
async function gateway(at: string, body?: object): Promise<any> {
  const response = await fetch(GATEWAY + at, {
    method: body ? 'POST' : 'GET',
    headers: { authorization: `Bearer ${token}` },
    ...(body ? { body: JSON.stringify(body) } : {}),
  })
  return await response.json()
}

interface Outcome {
  code: number | null
  text: string
}
async function played(name: string, agent: Agent, id: string, key: string): Promise<Outcome> {
  const own = mkdtempSync(join(home, `${name}-`))
  const work = join(own, 'work')
  mkdirSync(work)
  writeFileSync(join(work, 'add.py'), 'def add(a, b):\n    return a + b\n')
  execFileSync('git', ['init', '-q', work])
  const at = { url: `${GATEWAY}/rollouts/${id}`, key, home: own }
  for (const [file, content] of Object.entries(agent.files?.(at) ?? {})) {
    mkdirSync(join(own, file, '..'), { recursive: true })
    writeFileSync(join(own, file), typeof content === 'string' ? content : JSON.stringify(content))
  }
  const child = spawn(installed(agent), agent.args, {
    cwd: work,
    env: { PATH: process.env.PATH, HOME: own, NO_COLOR: '1', ...agent.env?.(at) },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let text = ''
  child.stdout.on('data', (bytes) => (text += bytes))
  child.stderr.on('data', (bytes) => (text += bytes))
  const late = setTimeout(() => child.kill(), 500_000)
  const code = await new Promise<number | null>((done) => child.once('close', done))
  clearTimeout(late)
  return { code, text }
}

interface Call {
  prompt_token_ids: number[]
  token_ids: number[]
  logprobs: number[]
  row: number
}
const all: { name: string; calls: Call[] }[] = []
for (const name of asked.length > 0 ? asked : Object.keys(AGENTS)) {
  const agent = AGENTS[name]!
  const { version } = JSON.parse(
    readFileSync(join(installed(agent), '../..', agent.npm, 'package.json'), 'utf8'),
  ) as { version: string }
  // Two attempts are a group, if they are to be trained on.
  for (let attempt = 0; attempt < (isTiny ? 1 : 2); attempt++) {
    const mode = isTiny ? 'eval' : 'train'
    const rollout = await gateway('/v1/rollouts', { task: 'coding', prompt_id: name, mode })
    const { code, text } = await played(name, agent, rollout.id, rollout.api_key)
    const { calls } = (await gateway(`/v1/rollouts/${rollout.id}/calls`)) as { calls: Call[] }
    await gateway(`/v1/rollouts/${rollout.id}/reward`, { value: attempt })
    all.push({ name, calls })
    const rows = new Set(calls.map(({ row }) => row)).size
    console.log(
      `${agent.npm} ${version}: exit ${code}, ${calls.length} calls in ${rows} rows, first prompt ${calls[0]?.prompt_token_ids.length} tokens`,
    )
    console.log(`  ${JSON.stringify(text.slice(-600))}`)
  }
}
const { training, agents } = await node.snapshot()
await node.stop()

const engine = createOnnxEngine({ threads: 1 })
await engine.open(await loadModel(path, { disk }))
let furthest = 0
for (const { calls } of all)
  for (const { prompt_token_ids, token_ids, logprobs } of calls) {
    const one = { conditioning: Int32Array.from(prompt_token_ids), completion: Int32Array.from(token_ids) }
    const [scores] = await engine.score({ temperature: 1, sequences: [one] })
    logprobs.forEach((value, i) => {
      furthest = Math.max(furthest, Math.abs(value - scores!.logprobs[i]!))
    })
  }
await engine.close()
console.log(`largest distance of a log-prob from its score ${furthest}; step ${training?.step ?? 0}`)
console.log(JSON.stringify(agents))
const isGood = furthest < 1e-4 && all.every(({ calls }) => calls.length > 0)
process.exit(isGood ? 0 : 1)
