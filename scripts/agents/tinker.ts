// Tinker's released client, unmodified, against `waggle serve --tinker`. Says which of its calls work, and compares its
// log-probs, losses and steps with the library's. Ends with an error if one is wrong.
//
//   node --conditions=waggle-source --import tsx scripts/agents/tinker.ts [model] [interpreter of Python] [rounds]
//
// Without an interpreter, installs `tinker` and `transformers` under .cache; forward_backward_custom is tried if torch is
// there, too.

import { execFile, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { learningOf } from '../../daemon/agents/tinker/losses.ts'
import type { Datum } from '../../daemon/agents/tinker/messages.ts'
import { openModel } from '../../daemon/library/open.ts'
import { pythonWith, versionsOf } from './venv.ts'

const run = promisify(execFile)
const [model = 'default', interpreter, rounds = '30'] = process.argv.slice(2)
const python = resolve(interpreter ?? pythonWith('tinker', ['tinker', 'transformers']))
const home = mkdtempSync(join(tmpdir(), 'waggle-tinker-'))
process.once('exit', () => rmSync(home, { recursive: true, force: true }))

const command = ['--conditions=waggle-source', '--import', 'tsx', 'daemon/cli/waggle.ts', 'serve', model]
const options = ['--tinker', '--json', '--home', home, '--set', 'serve.listen=127.0.0.1:0']
const server = spawn(process.execPath, [...command, ...options], { stdio: ['ignore', 'pipe', 'inherit'] })
process.once('exit', () => server.kill())
const told = await new Promise<string>((done) => server.stdout.once('data', (bytes) => done(String(bytes))))
const { url, models } = JSON.parse(told) as { url: string; models: string[] }
const key = `tml-${readFileSync(join(home, 'serve.key'), 'utf8').trim()}`

const { stdout } = await run(python, ['scripts/agents/tinker_client.py', models.at(-1)!, rounds], {
  env: { ...process.env, TINKER_BASE_URL: url, TINKER_API_KEY: key },
  maxBuffer: 1 << 26,
})
interface Line {
  check?: string
  sequences?: number[][]
  before?: number[][]
  after?: number[][]
  old?: number[][]
  loss?: number
  norm?: number
  call?: string
  works?: boolean
  error?: string
  loop?: number[]
}
const lines = stdout
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as Line)

/** The same by the library. */
const library = await openModel(model, { adapter: { rank: 4, alpha: 32 } })
const sequences = lines[0]!.sequences!
let isGood = true
const far = (a: readonly (readonly number[])[], b: readonly ArrayLike<number>[]): number =>
  Math.max(...a.flatMap((one, i) => one.map((x, j) => Math.abs(x - b[i]![j]!))))
const scored = async (): Promise<Float32Array[]> => {
  const rows = sequences.map((one) => ({
    prompt: Int32Array.from(one.slice(0, 1)),
    tokens: Int32Array.from(one.slice(1)),
  }))
  return (await library.score(rows)).map(({ logprobs }) => logprobs)
}
const compare = (what: string, distance: number, most: number): void => {
  isGood &&= distance <= most
  console.log(`${what}: ${distance.toExponential(1)}`)
}
for (const { check, before, after, old, loss, norm } of lines.filter((line) => line.check)) {
  if (before) compare(`${check}, log-probs beside score`, far(before, await scored()), 1e-4)
  const data = sequences.map((one, n): Datum => {
    const inputs: Record<string, number[]> =
      check === 'cross_entropy'
        ? { weights: one.slice(1).map((_, i) => i % 2) }
        : {
            logprobs: old![n]!.map((x, i) => x - 0.3 * (i % 2)),
            advantages: one.slice(1).map((_, i) => (-1) ** Math.floor(i / 2)),
          }
    const all = { target_tokens: one.slice(1), ...inputs }
    return {
      tokens: Int32Array.from(one.slice(0, -1)),
      inputs: Object.fromEntries(Object.entries(all).map(([name, x]) => [name, Float64Array.from(x)])),
    }
  })
  const batch = { model: '', sequence: 0, data, loss: check!, config: {}, forwardOnly: false }
  const { rows, objective } = learningOf(batch)
  const gradient = await library.accumulate(rows, objective)
  const step = await library.step({
    ...{ learningRate: 1e-3, beta1: 0.9, beta2: 0.95, epsilon: 1e-8, maxGradientNorm: 1e30 },
  })
  compare(`${check}, loss`, Math.abs(gradient.loss - loss!) / (1 + Math.abs(loss!)), 1e-4)
  compare(`${check}, norm of the gradient`, Math.abs(step.norm - norm!) / norm!, 1e-3)
  compare(`${check}, log-probs after a step`, far(after!, await scored()), 1e-3)
}
await library.close()
for (const { call, works, error = '' } of lines.filter((line) => line.call)) {
  isGood &&= works!
  console.log(`${works ? 'works' : 'FAILS'}  ${call}  ${error}`)
}
const loop = lines.find((line) => line.loop)?.loop ?? []
const mean = (values: readonly number[]): string =>
  (values.reduce((a, b) => a + b, 0) / values.length).toFixed(3)
if (loop.length > 0)
  console.log(
    `a loop of ${loop.length} rounds: mean reward ${mean(loop.slice(0, 5))}, then ${mean(loop.slice(-5))}`,
  )
console.log(versionsOf(python, ['tinker']))
server.kill('SIGINT')
process.exit(isGood ? 0 : 1)
