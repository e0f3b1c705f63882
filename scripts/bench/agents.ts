// How much of the sampler's speed conversations get through the gateway: 64 clients that talk on and on, against calls
// of `generate` with the same 64 prompts and limits, on the same engine. The gateway and the clients share the main
// thread; the sampler has its own. Processor time is told of both, because other programs change the wall-clock time.
//
//   node --import tsx scripts/bench/agents.ts [clients] [seconds] [rounds]

import { randomBytes } from 'node:crypto'
import { openGateway } from '../../daemon/agents/index.ts'
import { createOnnxEngine } from '../../daemon/engine/onnx/index.ts'
import { loadModel } from '../../daemon/policy/model.ts'
import { createWaker } from '../../daemon/rollout/waker.ts'
import { nodeDisk } from '../../daemon/store/node-disk.ts'

const [clients = 64, seconds = 15, rounds = 2] = process.argv.slice(2).map(Number)
const MOST = 64
const model = await loadModel('models/three-tasks', { disk: nodeDisk })
const { tokenizer, spec } = model
const engine = createOnnxEngine({ threads: 1 })
await engine.open({ spec, weights: model.weights })
const stop = { temperature: 1, maxNewTokens: MOST, stopTokens: tokenizer.stopTokens }
const questionOf = (i: number): string => `Work out ${i % 90} + ${(i * 7) % 90}`

interface Rate {
  /** Tokens a second of wall-clock time. */
  wall: number
  /** Milliseconds of processor time for a token: of the main thread, and of all others. */
  main: number
  sampler: number
}

/** Starts a measurement; call the result with the tokens that were written since. */
function measure(): (tokens: number) => Rate {
  const [started, all, main] = [performance.now(), process.cpuUsage(), process.threadCpuUsage()]
  return (tokens) => {
    const sum = ({ user, system }: NodeJS.CpuUsage): number => (user + system) / 1000
    const inMain = sum(process.threadCpuUsage(main))
    const inAll = sum(process.cpuUsage(all))
    return {
      wall: tokens / ((performance.now() - started) / 1000),
      main: inMain / tokens,
      sampler: (inAll - inMain) / tokens,
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
        rolloutSeconds: 600,
        maxOpen: 10_000,
        groupSize: 8,
        model: 'm',
      },
      ...{
        temperature: 1,
        maxNewTokens: MOST,
        author: 'self',
        context: spec.contextLength,
        vocabulary: spec.vocabulary,
      },
    },
    {
      ...{
        token: () => 'token',
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
  const post = async (path: string, body: object, key = 'token') => {
    const headers = { authorization: `Bearer ${key}` }
    const url = path.startsWith('http') ? path : gateway.url + path
    const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
    return (await response.json()) as { base_url: string; api_key: string }
  }
  const [started, end] = [performance.now(), measure()]
  let next = 0
  const talk = async (): Promise<void> => {
    while (performance.now() - started < seconds * 1000) {
      const { base_url: url, api_key: key } = await post('/v1/rollouts', { mode: 'eval' })
      for (let turn = 0; turn < 4; turn++)
        await post(
          `${url}/chat/completions`,
          { messages: [{ role: 'user', content: questionOf(next++) }] },
          key,
        )
    }
  }
  await Promise.all(Array.from({ length: clients }, talk))
  const rate = end(tokens)
  await gateway.close()
  return told(`gateway, ${(tokens / calls).toFixed(0)} tokens an answer`, rate)
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
