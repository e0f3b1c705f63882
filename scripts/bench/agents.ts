// How much of the sampler's speed conversations get through the gateway: 64 clients that talk on and on, in a process of
// their own, against calls of `generate` with as many prompts of the same kind and the same limits, on the same engine.
//
//   node --import tsx scripts/bench/agents.ts [clients] [seconds] [rounds] [model] [tokens of an answer, at most]
//
// Other programs change the wall-clock time, so processor time is told as well.

import { fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { openGateway } from '../../daemon/agents/index.ts'
import { createOnnxEngine } from '../../daemon/engine/onnx/index.ts'
import { loadModel } from '../../daemon/policy/model.ts'
import { createWaker } from '../../daemon/rollout/waker.ts'
import { nodeDisk } from '../../daemon/store/node-disk.ts'

const [clients = 64, seconds = 15, rounds = 2] = process.argv.slice(2, 5).map(Number)
const questionOf = (i: number): string => `Work out ${i % 90} + ${(i * 7) % 90}`
if (process.send) await talkOnAndOn()
const MAX = Number(process.argv[6] ?? 64)
const model = await loadModel(process.argv[5] ?? 'models/three-tasks', { disk: nodeDisk })
const { tokenizer, spec } = model
const engine = createOnnxEngine({ threads: 1 })
await engine.open({ spec, weights: model.weights })
const stop = { temperature: 1, maxNewTokens: MAX, stopTokens: tokenizer.stopTokens }

interface Rate {
  /** Tokens a second of wall-clock time. */
  wall: number
  /** Milliseconds of processor time for a token: of the main thread, and of the sampler's. */
  main: number
  sampler: number
}

/** Milliseconds of processor time of the sampler's thread, in steps of 10; 0 where the system does not say. */
function samplerTime(): number {
  if (!existsSync('/proc/self/task')) return 0
  for (const thread of readdirSync('/proc/self/task')) {
    const [, name, rest] = /\((.*)\) (.*)/.exec(readFileSync(`/proc/self/task/${thread}/stat`, 'utf8'))!
    const fields = rest!.split(' ')
    if (name === 'waggle-engine') return 10 * (Number(fields[11]) + Number(fields[12]))
  }
  return 0
}

/** Starts a measurement; call the result with the tokens that were written since. */
function measure(): (tokens: number) => Rate {
  const [started, main, sampler] = [performance.now(), process.threadCpuUsage(), samplerTime()]
  return (tokens) => {
    const { user, system } = process.threadCpuUsage(main)
    return {
      wall: tokens / ((performance.now() - started) / 1000),
      main: (user + system) / 1000 / tokens,
      sampler: (samplerTime() - sampler) / tokens,
    }
  }
}

async function alone(): Promise<Rate> {
  const [started, end] = [performance.now(), measure()]
  let [tokens, calls] = [0, 0]
  for (let round = 0; performance.now() - started < seconds * 1000; round++) {
    const samples = await engine.generate({
      ...stop,
      samples: Array.from({ length: clients }, (_, i) => ({
        prompt: tokenizer.encodeChat([{ role: 'user', content: questionOf(round * clients + i) }], {
          prompt: true,
        }),
        seed: round * clients + i,
      })),
    })
    tokens += samples.reduce((sum, sample) => sum + sample.tokens.length, 0)
    calls += 1
  }
  return told(`generate, ${(tokens / calls).toFixed(0)} tokens a call`, end(tokens))
}

async function throughGateway(): Promise<Rate> {
  let [tokens, calls] = [0, 0]
  const gateway = await openGateway(
    {
      ...{
        listen: '127.0.0.1:0',
        strict: false,
        enforces: true,
        rolloutSeconds: 600,
        maxOpen: 10_000,
        groupSize: 8,
        ...{ model: 'm', parameters: 0, digest: model.digest },
      },
      ...{
        temperature: 1,
        maxNewTokens: MAX,
        author: 'self',
        context: spec.contextLength,
        modelContext: spec.contextLength,
        vocabulary: spec.vocabulary,
      },
    },
    {
      ...{
        token: () => 'token',
        serving: { answer: async () => {} },
        environments: [],
        tokenizer,
        sampler: engine,
        randomBytes,
        changed: createWaker(),
        onGroup: async () => {},
      },
      policy: () => ({ lineage: model.digest, tokenizer: tokenizer.digest, version: 0 }),
      ...{ isThrownAway: () => false, hasRoom: () => true, isTask: () => false, log: () => {} },
      onSampled: (call) => {
        tokens += call.tokens
        calls += 1
      },
      ...{ now: () => performance.timeOrigin + performance.now(), monotonic: () => performance.now() },
      after(ms, run) {
        const timer = setTimeout(run, ms)
        return () => clearTimeout(timer)
      },
    },
  )
  const talkers = fork(import.meta.filename, process.argv.slice(2, 5), {
    execArgv: process.execArgv,
    env: { ...process.env, GATEWAY: gateway.url },
  })
  await once(talkers, 'message')
  const end = measure()
  talkers.send('go')
  await once(talkers, 'message')
  const rate = end(tokens)
  await gateway.close()
  return told(`gateway, ${(tokens / calls).toFixed(0)} tokens an answer`, rate)
}

/** The clients' process. */
async function talkOnAndOn(): Promise<never> {
  const gateway = process.env.GATEWAY!
  const post = async (url: string, body: object, key = 'token') => {
    const headers = { authorization: `Bearer ${key}` }
    const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
    return (await response.json()) as { base_url: string; api_key: string }
  }
  process.send!('ready')
  await once(process, 'message')
  const started = performance.now()
  let next = 0
  const talk = async (): Promise<void> => {
    while (performance.now() - started < seconds * 1000) {
      const { base_url: url, api_key: key } = await post(`${gateway}/v1/rollouts`, { mode: 'eval' })
      for (let turn = 0; turn < 4 && performance.now() - started < seconds * 1000; turn++) {
        const messages = [{ role: 'user', content: questionOf(next++) }]
        await post(`${url}/chat/completions`, { messages }, key)
      }
    }
  }
  await Promise.all(Array.from({ length: clients }, talk))
  process.send!('done')
  process.exit(0)
}

function told(what: string, rate: Rate): Rate {
  const { wall, main, sampler } = rate
  console.log(
    `  ${what}: ${wall.toFixed(0)} tok/s; processor time for a token: ${sampler.toFixed(3)} ms sampler, ${main.toFixed(3)} ms main thread`,
  )
  return rate
}

await alone()
const ratios = { wall: [] as number[], sampler: [] as number[] }
for (let i = 0; i < rounds; i++) {
  const [batch, served] = [await alone(), await throughGateway()]
  ratios.wall.push(served.wall / batch.wall)
  ratios.sampler.push(batch.sampler / served.sampler)
}
const list = (values: readonly number[]): string => values.map((value) => value.toFixed(2)).join(', ')
console.log(
  `${clients} conversations, tokens of \`generate\`'s: a second ${list(ratios.wall)}; a second of the sampler's processor time ${list(ratios.sampler)}`,
)
await engine.close()
