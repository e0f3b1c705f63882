// From a table of one's own to better answers in llama.cpp, as docs/datasets.md and docs/real-model.md describe it: a
// CSV file and a config, `waggle up`, `waggle export adapter`, and new questions to the base file with and without the
// adapter.
//
//   npm install --prefix FOLDER node-llama-cpp
//   npm run -s lab:own-data -- --model SmolLM2.gguf --llama FOLDER [--steps 0,15] [--seeds 1,2,3]
//
// The questions in llama.cpp are in no row of the table; answers are greedy. Seeds number the runs and draw the table.

import { spawnSync } from 'node:child_process'
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { randomStream } from '../../../daemon/host/random.ts'
import { loadModel } from '../../../daemon/policy/model.ts'
import { nodeDisk as disk } from '../../../daemon/store/node-disk.ts'
import { type Run, runExperiment } from '../frame/experiment.ts'
import { markdown, show, summary } from '../frame/statistics.ts'
import { startNode } from '../nodes/process.ts'
import { type DaemonLook, lookAt } from './looks.ts'

interface Result {
  looks: DaemonLook[]
  peakBytes: number
  adapterBytes: number
  /** Share of new questions that llama.cpp answers right, greedily. */
  llama: { release: string; base: number; trained: number; questions: number }
}

interface Row {
  question: string
  answer: string
}

const ROWS = 400
const WAGGLE = fileURLToPath(new URL('../../../daemon/cli/waggle.ts', import.meta.url))
const EXAMPLE = {
  question: 'Which of these numbers is the largest: 5, 31, 17?',
  answer: '<answer>31</answer>',
}

/** Different questions about three numbers below 100; the largest is never the last, which small models like to repeat. */
function rows(count: number, seed: number): Row[] {
  const random = randomStream(seed, 'table')
  const found = new Map<string, Row>()
  while (found.size < count) {
    const numbers = Array.from({ length: 3 }, () => Math.floor(100 * random()))
    const largest = Math.max(...numbers)
    if (new Set(numbers).size < 3 || numbers.at(-1) === largest) continue
    const question = `Which of these numbers is the largest: ${numbers.join(', ')}?`
    found.set(question, { question, answer: String(largest) })
  }
  return [...found.values()]
}

const CONFIG = `
[model]
max_completion_tokens = 16

[[tasks]]
name = "largest"
dataset = "largest.csv"
fields = { prompt = "question" }
verifier = "numeric"
examples = 1

[training]
batch_groups = 8

[rollout]
groups_per_round = 8

[eval]
every_seconds = 1800
prompts_per_task = 40
`

await runExperiment<string, Result>({
  question: 'Does llama.cpp answer new questions better with an adapter that was trained on a table of 400?',
  defaults: { arms: 'largest', rates: '3e-4', seeds: '1', out: 'docs/results/own-data.jsonl' },
  flags: {
    model: { type: 'string' },
    llama: { type: 'string' },
    steps: { type: 'string', default: '0,15' },
    questions: { type: 'string', default: '100' },
  },
  settings: ({ model, steps, questions }) => ({
    ...{ model: basename(String(model)), steps: String(steps), questions: Number(questions) },
  }),
  arm(name) {
    if (name !== 'largest') throw new Error(`no arm "${name}"; there is largest`)
    return name
  },

  async play(_arm, { seed, values, log }) {
    if (!values.model || !values.llama) throw new Error('--model FILE and --llama FOLDER')
    const model = String(values.model)
    const questions = Number(values.questions)
    const all = rows(ROWS + questions, seed)
    const home = await mkdtemp(join(tmpdir(), 'waggle-own-data-'))
    const csv = all.slice(0, ROWS).map(({ question, answer }) => `"${question}",${answer}`)
    await writeFile(join(home, 'largest.csv'), ['question,answer', ...csv, ''].join('\n'))
    await writeFile(join(home, 'config.toml'), CONFIG)
    const node = await startNode(home, ['--no-swarm', '--model', model])
    const steps = String(values.steps).split(',').map(Number)
    const looks = await lookAt(node, { steps, questions, log })
    const peakBytes = node.peakBytes()
    await node.stop()
    const adapter = join(home, 'largest.gguf')
    const made = spawnSync(
      process.execPath,
      ['--import', 'tsx', WAGGLE, 'export', 'adapter', adapter, '--home', home],
      { encoding: 'utf8' },
    )
    if (made.status !== 0) throw new Error(made.stderr)
    const { size: adapterBytes } = await stat(adapter)
    const asked = { model, folder: String(values.llama), rows: all.slice(ROWS) }
    const base = await answerIn(asked, [])
    const trained = await answerIn(asked, [{ filePath: adapter }])
    await rm(home, { recursive: true })
    const llama = { release: base.release, base: base.right, trained: trained.right, questions }
    log(JSON.stringify(llama))
    return { looks, peakBytes, adapterBytes, llama }
  },

  table: (runs) => tableOf(runs),
})

interface Llama {
  llamaCppRelease: { release: string }
  loadModel(options: object): Promise<{
    createContext(options: object): Promise<{ getSequence(): Sequence; dispose(): Promise<void> }>
    dispose(): Promise<void>
  }>
}
interface Sequence {
  evaluate(tokens: number[], options: object): AsyncIterable<number>
  clearHistory(): Promise<void>
}

/** The share of rows that llama.cpp answers right with these adapters. The tokens of the prompt are the node's. */
async function answerIn(
  { model, folder, rows: asked }: { model: string; folder: string; rows: readonly Row[] },
  adapters: readonly { filePath: string }[],
): Promise<{ release: string; right: number }> {
  const { tokenizer } = await loadModel(model, { disk })
  const at = createRequire(join(folder, 'package.json')).resolve('node-llama-cpp')
  const { getLlama } = (await import(pathToFileURL(at).href)) as { getLlama(options: object): Promise<Llama> }
  const llama = await getLlama({ gpu: false, build: 'never', maxThreads: 1 })
  const loaded = await llama.loadModel({ modelPath: model })
  const lora = adapters.length > 0 ? { lora: { adapters } } : {}
  const context = await loaded.createContext({ ...lora, contextSize: 512, threads: 1 })
  const sequence = context.getSequence()
  let right = 0
  for (const { question, answer } of asked) {
    await sequence.clearHistory()
    const written: number[] = []
    const prompt = [...tokenizer.encodePrompt(question, [EXAMPLE])]
    for await (const token of sequence.evaluate(prompt, { temperature: 0, yieldEogToken: true })) {
      if (tokenizer.stopTokens.includes(token) || written.length === 16) break
      written.push(token)
    }
    const text = tokenizer.decodeCompletion(Int32Array.from(written))
    if (text.match(/<answer>\s*(\d+)\s*<\/answer>/)?.[1] === answer) right += 1
  }
  await context.dispose()
  await loaded.dispose()
  return { release: llama.llamaCppRelease.release, right: right / asked.length }
}

function tableOf(runs: readonly Run<Result>[]): string {
  const percent = (pick: (run: Run<Result>) => number): string => {
    const values = runs.map(pick)
    return `${values.map((value) => (100 * value).toFixed(0)).join(', ')} (${show(summary(values))})`
  }
  return markdown(
    ['', 'right, %'],
    [
      ['held out, sampled, before', percent(({ looks }) => looks[0]!.sampled)],
      ['held out, sampled, after', percent(({ looks }) => looks.at(-1)!.sampled)],
      ['llama.cpp, base', percent(({ llama }) => llama.base)],
      ['llama.cpp, with the adapter', percent(({ llama }) => llama.trained)],
    ],
  )
}
