// TRL's GRPOTrainer beside real.ts: `npm run -s lab:trl -- --model SmolLM2.gguf [--seed 1]`
//
// The same weights (the GGUF file's, in F32), the same task, prompts in the same form, and the same group size, length,
// learning rate and loss. Makes a Python environment in .cache/trl at the first call (about 2 GB). Looks are added to
// real.ts's record, which `npm run -s lab:real -- --show` prints.

import { spawn } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { askThrough } from '../../../daemon/policy/chat/prompts.ts'
import { writeMerged } from '../../../daemon/policy/export/write-model.ts'
import { loadModel } from '../../../daemon/policy/model.ts'
import { shareOf } from '../../../daemon/rollout/evaluation/estimates.ts'
import { heldOutPrompts } from '../../../daemon/rollout/evaluation/held-out.ts'
import { nodeDisk as disk } from '../../../daemon/store/node-disk.ts'
import numberSorting from '../../../plugins/tasks/arithmetic/number-sorting.ts'
import { withExamples } from '../../../plugins/tasks/examples.ts'
import { pythonWith } from '../../agents/venv.ts'
import { thisMachine } from '../frame/machine.ts'
import { openRecords } from '../frame/records.ts'

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

const { values: flags } = parseArgs({
  options: {
    model: { type: 'string' },
    difficulty: { type: 'string', default: '0' },
    examples: { type: 'string', default: '1' },
    seed: { type: 'string', default: '1' },
    steps: { type: 'string', default: '40' },
    prompts: { type: 'string', default: '8' },
    group: { type: 'string', default: '8' },
    length: { type: 'string', default: '20' },
    rate: { type: 'string', default: '3e-4' },
    rank: { type: 'string', default: '16' },
    every: { type: 'string', default: '10' },
    questions: { type: 'string', default: '100' },
    threads: { type: 'string', default: '2' },
    /** Answers in one backward pass: gradients are added up over these. */
    micro: { type: 'string', default: '16' },
    /** A Python that has TRL already. */
    python: { type: 'string' },
    out: { type: 'string', default: 'docs/results/real.jsonl' },
  },
})
const PACKAGES = ['torch==2.13.0', 'trl==1.16.0', 'transformers==5.23.0', 'peft==0.21.2', 'datasets==5.2.0']

if (flags.model === undefined) throw new Error('name a model: --model FILE.gguf')
const python = flags.python ?? pythonWith('trl', PACKAGES)
const model = await loadModel(flags.model, { disk })
const { template, stopTokens } = model.tokenizer
if (!template) throw new Error(`${flags.model} has no chat template`)
const ask = askThrough(template)
const task = withExamples(numberSorting, Number(flags.examples))
const difficulty = Number(flags.difficulty)
const asked = (seed: number) => {
  const { question, key, examples } = task.generate({ seed, difficulty })
  return { prompt: ask(question, examples), key }
}

const folder = await mkdtemp(join(tmpdir(), 'waggle-trl-'))
try {
  await mkdir(join(folder, 'model'))
  await writeMerged(model, { target: join(folder, 'model'), dtype: 'f32', card: '' }, { disk })
  const { config, tokenizer } = model.files
  await writeFile(join(folder, 'model', 'config.json'), JSON.stringify({ ...config, dtype: 'float32' }))
  await writeFile(join(folder, 'model', 'tokenizer.json'), JSON.stringify(tokenizer))
  const stop = (tokenizer.added_tokens as { id: number; content: string }[]).find(
    ({ id }) => id === stopTokens[0],
  )!.content
  const { steps, prompts, group, micro, length, rate, rank, every, threads, seed, questions } = flags
  const numbers = { steps, prompts, group, micro, length, rate, rank, every, threads, seed }
  const job = Object.fromEntries(Object.entries(numbers).map(([name, text]) => [name, Number(text)]))
  await writeFile(join(folder, 'job.json'), JSON.stringify({ ...job, warm_up: 3, stop }))
  const first = Number(seed) * 1_000_000
  const training = Array.from({ length: Number(steps) * Number(prompts) }, (_, i) => asked(first + i))
  await writeFile(join(folder, 'questions.json'), JSON.stringify(training))
  const held = await heldOutPrompts(task, difficulty, Number(questions))
  await writeFile(join(folder, 'held.json'), JSON.stringify(held.map((at) => asked(at.seed))))

  const records = await openRecords<object>(flags.out)
  const name = basename(flags.model)
  const settings = JSON.stringify({
    ...{ task: task.name, difficulty: flags.difficulty, examples: flags.examples, prompts, group, length },
    ...{ rate, rank, questions },
  })
  const run = `trl/${name}/${seed}/${new Date().toISOString()}`
  const child = spawn(python, [here('./real-trl/grpo.py'), folder], { stdio: ['ignore', 'pipe', 'inherit'] })
  for await (const line of createInterface({ input: child.stdout })) {
    if (!line.startsWith('LOOK ')) continue
    const { sampled, greedy, ...look } = JSON.parse(line.slice('LOOK '.length)) as {
      sampled: number[]
      greedy: number[]
      step: number
    }
    await records.add({
      ...{ run, by: 'trl', model: name, seed: Number(seed), settings, questions: held.length, ...look },
      ...{ sampled: shareOf(sampled), greedy: shareOf(greedy) },
      ...{ machine: thisMachine(), at: new Date().toISOString() },
    })
    console.error(`step ${look.step}: sampled ${shareOf(sampled).value}, greedy ${shareOf(greedy).value}`)
  }
  const code = child.exitCode ?? (await new Promise<number | null>((done) => child.once('exit', done)))
  if (code !== 0) throw new Error(`TRL stopped with status ${code}`)
} finally {
  await rm(folder, { recursive: true })
}
