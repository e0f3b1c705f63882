// Tokens a second from `waggle serve` and from llama.cpp's server, with the same GGUF file on the same cores and threads:
// reading prompts and writing answers apart, one call and eight side by side, in turns; then from a node that trains.
//
//   taskset -c 0 node --import tsx scripts/bench/served.ts MODEL.gguf LLAMA_SERVER [seconds=10] [rounds=2] [together|training]
//
// Every process runs on this one's cores, with a thread for each. Both draw at temperature 0.8 among the 40 likeliest
// tokens. Other programs change the wall-clock time, so rates are told by the server's processor time as well (Linux only).
// The last argument leaves out one half.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { availableParallelism, cpus, tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { processorSeconds, startNode } from '../lab/nodes/process.ts'

const [model, llama, seconds = '10', rounds = '2', half] = process.argv.slice(2)
if (!model || !llama) throw new Error('MODEL.gguf and LLAMA_SERVER')
const threads = availableParallelism()
const BATCHES = [1, 8]
/** Tokens of an answer, at most. */
const WRITTEN = 128
/** Characters of a long prompt, about 500 tokens. */
const LONG = 2000
const [WAGGLE, LLAMA, NODE] = [4481, 4482, 4483].map((port) => `127.0.0.1:${port}`) as [
  string,
  string,
  string,
]
const home = mkdtempSync(join(tmpdir(), 'waggle-served-'))
const children: ChildProcess[] = []
process.once('SIGTERM', () => process.exit(1))
process.once('exit', () => {
  for (const child of children) child.kill('SIGKILL')
  rmSync(home, { recursive: true, force: true })
})

interface Server {
  name: string
  url: string
  key: string
  /** Spent so far, user and system. */
  processorSeconds(): number
}

async function started(
  server: Pick<Server, 'name' | 'url'>,
  command: string,
  args: string[],
): Promise<Omit<Server, 'key'>> {
  const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'pipe'] })
  children.push(child)
  let output = ''
  child.stderr.on('data', (piece) => (output = (output + piece).slice(-4000)))
  while (
    !(await fetch(`${server.url}/v1/models`).catch(() => ({ status: 503 }))).status.toString().match(/[24]0./)
  ) {
    if (child.exitCode !== null) throw new Error(`${command} stopped:\n${output}`)
    await sleep(200)
  }
  return { ...server, processorSeconds: () => processorSeconds(child.pid!) }
}

const text = readFileSync('docs/operating.md', 'utf8') + readFileSync('docs/how-it-works.md', 'utf8')
let asked = 0
/** Prompts differ from their beginning on, so that no cache knows them. */
const longPrompt = (): string => {
  const at = (asked++ * 7919) % (text.length - LONG)
  return `${asked}. Sum this up: ${text.slice(at, at + LONG)}`
}
const shortPrompt = (): string => `${asked++}. Write a long story about the number ${asked}.`

/** A moment: ms of wall-clock time, and of the server's processor time. */
interface Moment {
  wall: number
  processor: number
}
interface Told {
  /** Of each token. */
  at: Moment[]
  /** Tokens of the prompt that were read, without cached ones. */
  read: number
  written: number
}
const now = (server: Server): Moment => ({
  wall: performance.now(),
  processor: server.processorSeconds() * 1000,
})

async function ask(server: Server, content: string, tokens: number): Promise<Told> {
  const response = await fetch(`${server.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${server.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      ...{ messages: [{ role: 'user', content }], max_tokens: tokens, stream: true },
      ...{ stream_options: { include_usage: true }, temperature: 0.8, top_k: 40, top_p: 1, min_p: 0 },
    }),
  })
  if (!response.ok) throw new Error(`${server.url}: ${response.status} ${await response.text()}`)
  const told: Told = { at: [], read: 0, written: 0 }
  let rest = ''
  for await (const piece of response.body!.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + piece).split('\n')
    rest = lines.pop()!
    for (const line of lines) {
      if (!line.startsWith('data: {')) continue
      const { choices, usage } = JSON.parse(line.slice(6))
      if (choices?.[0]?.delta?.content) told.at.push(now(server))
      if (!usage) continue
      told.read = usage.prompt_tokens - (usage.prompt_tokens_details?.cached_tokens ?? 0)
      told.written = usage.completion_tokens
    }
  }
  return told
}

interface Span {
  tokens: number
  from: Moment
  to: Moment
}
/** Tokens a second. */
type Rate = Moment

/** Goes on for `seconds`: calls at once, and when all have ended the next ones. */
async function timed(calls: () => Promise<Span>): Promise<Rate> {
  const total = { tokens: 0, wall: 0, processor: 0 }
  const end = performance.now() + Number(seconds) * 1000
  while (total.tokens === 0 || performance.now() < end) {
    const { tokens, from, to } = await calls()
    total.tokens += tokens
    total.wall += to.wall - from.wall
    total.processor += to.processor - from.processor
  }
  return {
    wall: (1000 * total.tokens) / total.wall,
    processor: (1000 * total.tokens) / total.processor,
  }
}

const RATES = {
  read: (server: Server, batch: number) =>
    timed(async () => {
      const from = now(server)
      const all = await Promise.all(Array.from({ length: batch }, () => ask(server, longPrompt(), 1)))
      return { tokens: all.reduce((sum, { read }) => sum + read, 0), from, to: now(server) }
    }),
  /** From the moment when all write until the first has ended. */
  write: (server: Server, batch: number) =>
    timed(async () => {
      const all = await Promise.all(Array.from({ length: batch }, () => ask(server, shortPrompt(), WRITTEN)))
      for (const { at, written } of all)
        if (Math.abs(at.length - written) > 4) throw new Error(`${at.length} pieces for ${written} tokens`)
      const from = all.map(({ at }) => at[0]!).reduce((a, b) => (a.wall > b.wall ? a : b))
      const to = all.map(({ at }) => at.at(-1)!).reduce((a, b) => (a.wall < b.wall ? a : b))
      const within = ({ at }: Told): number =>
        at.filter(({ wall }) => wall > from.wall && wall <= to.wall).length
      // The first may end before the last has begun.
      if (to.wall <= from.wall) return { tokens: 0, from, to: from }
      return { tokens: all.reduce((sum, one) => sum + within(one), 0), from, to }
    }),
}

type Rates = Map<string, Rate[]>
async function round(server: Server, rates: Rates): Promise<void> {
  for (const batch of BATCHES)
    for (const [what, rateOf] of Object.entries(RATES)) {
      const rate = await rateOf(server, batch)
      const name = `${what}, batch ${batch}`
      console.log(
        `  ${server.name}, ${name}: ${rate.wall.toFixed(1)} tokens a second, ${rate.processor.toFixed(1)} of processor time`,
      )
      rates.set(name, [...(rates.get(name) ?? []), rate])
    }
}

const secret = (at: string): string => readFileSync(join(at, 'serve.key'), 'utf8').trim()

async function together(): Promise<void> {
  const ours = { name: 'waggle', url: `http://${WAGGLE}` }
  const theirs = { name: 'llama.cpp', url: `http://${LLAMA}` }
  const command = ['--conditions=waggle-source', '--import', 'tsx', 'daemon/cli/waggle.ts']
  const waggle = await started(ours, process.execPath, [
    ...[...command, 'serve', model!, '--home', home, '--threads', String(threads)],
    ...['--set', `serve.listen=${WAGGLE}`, '--set', 'limits.priority=normal'],
  ])
  const rival = await started(theirs, llama!, [
    ...['-m', model!, '-t', String(threads), '-tb', String(threads), '-np', '8', '-c', '16384'],
    ...['--host', '127.0.0.1', '--port', LLAMA.split(':')[1]!],
  ])
  const rates = { ours: new Map() as Rates, theirs: new Map() as Rates }
  for (let i = 0; i < Number(rounds); i++) {
    await round({ ...waggle, key: secret(home) }, rates.ours)
    await round({ ...rival, key: '' }, rates.theirs)
  }
  for (const child of children.splice(0)) child.kill()
  for (const [name, values] of rates.ours) {
    const ratios = (kind: keyof Rate): string =>
      values.map((value, i) => (value[kind] / rates.theirs.get(name)![i]![kind]).toFixed(2)).join(', ')
    console.log(`${name}: waggle/llama.cpp ${ratios('wall')}; by processor time ${ratios('processor')}`)
  }
}

async function whileTraining(): Promise<void> {
  const own = join(home, 'node')
  const settings = {
    'model.path': model!,
    'serve.listen': NODE,
    'engine.threads': threads,
    'training.warm_up_steps': 0,
    'warm_start.steps': 0,
    'eval.every_seconds': 0,
    'rollout.group_size': 4,
    'training.batch_groups': 2,
    'model.max_completion_tokens': 64,
  }
  const node = await startNode(own, [
    '--no-swarm',
    ...Object.entries(settings).flatMap(([key, value]) => ['--set', `${key}=${value}`]),
  ])
  while (((await node.snapshot()).training?.step ?? 0) < 1) await sleep(500)
  const before = (await node.snapshot()).training!.step
  const began = performance.now()
  const { processorSeconds } = node
  await round(
    { name: 'waggle, training', url: `http://${NODE}`, key: secret(own), processorSeconds },
    new Map(),
  )
  const { training, serving } = await node.snapshot()
  console.log(
    `steps ${before} to ${training!.step} in ${((performance.now() - began) / 1000).toFixed(0)} s; first token after ${serving!.firstTokenSeconds?.toFixed(2)} s`,
  )
  await node.stop()
}

const { stdout, stderr } = spawnSync(llama, ['--version'], { encoding: 'utf8' })
console.log(
  `${cpus()[0]!.model}, ${threads} thread(s); node ${process.version}; ${basename(model)}; llama.cpp ${(stdout + stderr).trim().split('\n')[0]}`,
)
if (half !== 'training') await together()
if (half !== 'together') await whileTraining()
process.exit(0)
