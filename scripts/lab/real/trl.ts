// TRL's GRPOTrainer on the same weights (the model file's, in F32), the same task and prompts in the same form, with the
// same group size, length, learning rate and loss. Makes a Python environment in .cache/trl at the first call (2 GB).

import { spawn } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { askThrough } from '../../../daemon/policy/chat/prompts.ts'
import { writeMerged } from '../../../daemon/policy/export/write-model.ts'
import type { Model } from '../../../daemon/policy/model.ts'
import { shareOf } from '../../../daemon/rollout/evaluation/estimates.ts'
import { heldOutPrompts } from '../../../daemon/rollout/evaluation/held-out.ts'
import { nodeDisk as disk } from '../../../daemon/store/node-disk.ts'
import { workedExamples } from '../../../daemon/trainer/warm-start.ts'
import type { Task } from '../../../protocol/plugin/index.ts'
import { pythonWith } from '../../agents/venv.ts'
import type { Look } from './look.ts'

const PACKAGES = ['torch==2.13.0', 'trl==1.16.0', 'transformers==5.23.0', 'peft==0.21.2', 'datasets==5.2.0']

interface TrlOptions {
  model: Model
  /** With solved examples, if it is to have any. */
  task: Task
  difficulty: number
  /** As in grpo.py. `micro`: answers in one backward pass, over which gradients are added up. */
  job: { device: string } & Record<
    'steps' | 'prompts' | 'group' | 'micro' | 'length' | 'rate' | 'rank' | 'every' | 'threads' | 'seed',
    number
  >
  /** Supervised steps before, on as many worked examples: the rate rises for five and then falls linearly. */
  warm: Record<'steps' | 'examples' | 'rate', number>
  questions: number
  /** A Python that has TRL already. */
  python: string | undefined
}

export async function trainByTrl(
  { model, task, difficulty, job, warm, questions, python }: TrlOptions,
  onLook: (look: Look) => void,
): Promise<void> {
  const { template, stopTokens } = model.tokenizer
  if (!template) throw new Error('the model has no chat template')
  const ask = askThrough(template)
  const asked = (seed: number) => {
    const { question, examples } = task.generate({ seed, difficulty })
    return { prompt: ask(question, examples), seed }
  }
  const scoreOf = ({ seed, text }: { seed: number; text: string }): number =>
    task.verify(task.generate({ seed, difficulty }), text).score
  const folder = await mkdtemp(join(tmpdir(), 'waggle-trl-'))
  const put = (name: string, value: unknown): Promise<void> =>
    writeFile(join(folder, name), JSON.stringify(value))
  try {
    await mkdir(join(folder, 'model'))
    await writeMerged(model, { target: join(folder, 'model'), dtype: 'f32', card: '' }, { disk })
    const { config, tokenizer } = model.files
    await put('model/config.json', { ...config, dtype: 'float32' })
    await put('model/tokenizer.json', tokenizer)
    const added = tokenizer.added_tokens as { id: number; content: string }[]
    const stop = added.find(({ id }) => id === stopTokens[0])!.content
    await put('job.json', { ...job, warm_up: 3, stop, supervised: warm.steps, supervised_rate: warm.rate })
    const worked = warm.steps > 0 ? workedExamples([{ task, difficulty }], warm.examples) : []
    await put(
      'worked.json',
      worked.map(({ question, examples, answers }) => ({
        prompt: ask(question, examples),
        completion: answers.at(-1)!,
      })),
    )
    const first = job.seed * 1_000_000
    await put(
      'questions.json',
      Array.from({ length: job.steps * job.prompts }, (_, i) => asked(first + i)),
    )
    const held = await heldOutPrompts(task, difficulty, questions)
    await put(
      'held.json',
      held.map((at) => asked(at.seed)),
    )
    const script = fileURLToPath(new URL('./grpo.py', import.meta.url))
    const child = spawn(python ?? pythonWith('trl', PACKAGES), [script, folder], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    for await (const line of createInterface({ input: child.stdout })) {
      if (line.startsWith('SCORE ')) {
        const answers = JSON.parse(line.slice('SCORE '.length)) as Parameters<typeof scoreOf>[0][]
        child.stdin.write(`${JSON.stringify(answers.map(scoreOf))}\n`)
      }
      if (!line.startsWith('LOOK ')) continue
      const { sampled, greedy, ...look } = JSON.parse(line.slice('LOOK '.length)) as Omit<
        Look,
        'sampled' | 'greedy' | 'questions'
      > & { sampled: number[]; greedy: number[] }
      onLook({ ...look, questions: held.length, sampled: shareOf(sampled), greedy: shareOf(greedy) })
    }
    const code = child.exitCode ?? (await new Promise<number | null>((done) => child.once('exit', done)))
    if (code !== 0) throw new Error(`TRL stopped with status ${code}`)
  } finally {
    await rm(folder, { recursive: true })
  }
}
