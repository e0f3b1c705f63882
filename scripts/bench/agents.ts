// How much of the sampler's speed conversations get through the gateway: 64 clients that talk on and on, against calls
// of `generate` with the same 64 prompts and limits, on the same engine.
//
//   node --import tsx scripts/bench/agents.ts [clients] [seconds]

import { randomBytes } from 'node:crypto'
import { openGateway } from '../../daemon/agents/index.ts'
import { createOnnxEngine } from '../../daemon/engine/onnx/index.ts'
import { loadModel } from '../../daemon/policy/model.ts'
import { createWaker } from '../../daemon/rollout/waker.ts'
import { nodeDisk } from '../../daemon/store/node-disk.ts'

const [clients = 64, seconds = 15] = process.argv.slice(2).map(Number)
const MOST = 64
const model = await loadModel('models/three-tasks', { disk: nodeDisk })
const { tokenizer, spec } = model
const engine = createOnnxEngine({ threads: 1 })
await engine.open({ spec, weights: model.weights })
const stop = { temperature: 1, maxNewTokens: MOST, stopTokens: tokenizer.stopTokens }
const questionOf = (i: number): string => `Work out ${i % 90} + ${(i * 7) % 90}`

async function alone(): Promise<number> {
  const started = performance.now()
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
  console.log(`  generate: ${(tokens / calls).toFixed(0)} tokens a call`)
  return tokens / ((performance.now() - started) / 1000)
}

async function throughGateway(): Promise<number> {
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
  const started = performance.now()
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
  const whole = (performance.now() - started) / 1000
  const rate = tokens / whole
  console.log(`  gateway: ${(tokens / calls).toFixed(0)} tokens an answer`)
  await gateway.close()
  return rate
}

await alone()
const rates = { generate: 0, gateway: 0 }
for (let i = 0; i < 2; i++) {
  rates.generate = Math.max(rates.generate, await alone())
  rates.gateway = Math.max(rates.gateway, await throughGateway())
}
const ratio = rates.gateway / rates.generate
console.log(
  `${clients} conversations: ${rates.gateway.toFixed(0)} tok/s, generate: ${rates.generate.toFixed(0)} tok/s, ratio ${ratio.toFixed(2)}`,
)
await engine.close()
