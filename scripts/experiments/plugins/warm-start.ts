// The model that the hint experiment starts from: the model of three tasks after supervised steps. They teach it to
// state its answer in plain words if asked without a hint, which no verifier accepts, and in tags more often the more
// of the working a hint shows. So it can do more than it shows unasked, and plain groups are all wrong. They also
// teach it to continue where a hint ends, and to copy the beginning of a solution into a hint, since a hinter of a
// million parameters follows no instructions. Examples are warm-start questions, which the experiment never asks.
// Created once and kept on disk.

import { copyFile, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parameterShapes } from '../../../daemon/engine/decoder.ts'
import type { Engine } from '../../../daemon/engine/engine.ts'
import { randomStream } from '../../../daemon/host/random.ts'
import type { Model } from '../../../daemon/policy/model.ts'
import { encodeSafetensors } from '../../../daemon/policy/safetensors/read.ts'
import { hinterPrompt } from '../../../plugins/hints/prompts.ts'
import { bankOf, progressive, solutionOf, TIERS, type Tier } from '../../../plugins/hints/worked.ts'
import { leaksAnswer, type Random, type Task } from '../../../protocol/plugin/index.ts'
import { HELD_OUT_SEED, type Instance } from '../../../protocol/train/index.ts'
import { supervise } from '../in-process/supervise.ts'

export interface WarmStart {
  task: Task
  difficulty: number
  steps: number
  batch: number
  learningRate: number
  /** Shares of answers between tags: asked plainly, and under hints from the weakest to the strongest. */
  tagged: { plain: number; hinted: readonly [number, number, number] }
}

interface Example {
  question: string
  completion: string
}

export async function warmStart(
  { steps, batch, learningRate, ...what }: WarmStart,
  { engine, model, log }: { engine: Engine; model: Model; log(line: string): void },
): Promise<void> {
  const random = randomStream(1, 'warm-start')
  await supervise(
    { steps, batch, learningRate, example: () => exampleOf(what, random) },
    { engine, model, log: (line) => log(`warm start: ${line}`) },
  )
}

/** The engine's weights beside the other files of the model that they came from. */
export async function keepModel(
  directory: string,
  from: string,
  { engine, model }: { engine: Engine; model: Model },
) {
  await mkdir(directory, { recursive: true })
  for (const name of ['config.json', 'generation_config.json', 'tokenizer.json', 'tokenizer_config.json'])
    await copyFile(join(from, name), join(directory, name))
  const weights = await engine.weights()
  const tensors = Object.fromEntries(
    [...parameterShapes(model.spec)].map(([name, shape]) => [name, { shape, data: weights[name]! }]),
  )
  const pieces: Uint8Array[] = []
  for await (const piece of encodeSafetensors({ tensors, metadata: { format: 'pt' }, finite: true }).content)
    pieces.push(piece)
  await writeFile(join(directory, 'model.safetensors'), Buffer.concat(pieces))
}

function exampleOf(
  { task, difficulty, tagged }: Pick<WarmStart, 'task' | 'difficulty' | 'tagged'>,
  random: Random,
): Example {
  const draw = (): Instance =>
    task.generate({ seed: Math.floor(random() * HELD_OUT_SEED), difficulty, warmStart: true })
  const instance = draw()
  const { question, key, steps } = instance
  const leaks = (text: string): boolean => leaksAnswer(key, text)
  const levels = progressive(steps, tagged.hinted.length, leaks)
  // Short enough for a hinter to write: the working without the method.
  const working = progressive(
    steps.filter(({ level, aside }) => level > 1 && !aside),
    tagged.hinted.length,
    leaks,
  )
  const beginning = working[Math.floor(random() * working.length)] ?? levels[0]!
  const level = Math.floor(random() * levels.length)
  const kind = random()
  if (kind < 0.35) {
    const attempt = answered(draw(), '', random() < tagged.plain)
    const material = { question, solution: solutionOf(instance), attempt }
    return { question: hinterPrompt('short', material), completion: `<hint>${beginning}</hint>` }
  }
  if (kind < 0.7) return { question, completion: answered(instance, '', random() < tagged.plain) }
  const form = Math.floor(random() * 3)
  const strength = form === 1 ? Math.max(0, working.indexOf(beginning)) : level
  const hint = [levels[level]!, beginning, blockOf(TIERS[level]!, bankOf(question, steps, leaks), random)][
    form
  ]!
  const before = form === 2 ? 'Question:\n' : ''
  const label = form === 0 ? 'Hint: ' : ''
  return {
    question: `${before}${question}\n\n${label}${hint}`,
    completion: answered(instance, hint, random() < tagged.hinted[strength]!),
  }
}

/** As Scaf-GRPO shows it. */
function blockOf(tier: Tier, bank: Record<Tier, string[]>, random: Random): string {
  const shown = bank[tier].slice(0, 1 + Math.floor(random() * bank[tier].length))
  const title = `${tier[0]!.toUpperCase()}${tier.slice(1)}`
  return `${title} Hints:\n${shown.map((text, i) => `${i + 1}. ${text}`).join('\n')}`
}

/** The lines of the working that the hint does not show, and the answer. */
function answered({ steps, key }: Instance, hint: string, isTagged: boolean): string {
  const lines = steps
    .filter(({ level, aside }) => level > 1 && !aside)
    .flatMap(({ text }) => text.split('\n'))
  const left = lines.filter((line) => !hint.includes(line))
  return [...left, isTagged ? `<answer>${key}</answer>` : `So it is ${key}.`].join('\n')
}
