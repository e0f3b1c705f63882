// The README of an exported model: what was trained, on what, with what result, in words and in the metadata that model
// hubs read. Everything in it comes from the run's own records; what they do not have is left out.

import { safeText } from '../../protocol/text.ts'
import type { AdapterSpec } from '../engine/decoder.ts'

export interface CardFacts {
  base: { name: string; commit?: string | undefined; onHub: boolean }
  adapter?: AdapterSpec | undefined
  /** True for an adapter by itself. */
  bare: boolean
  dtype: string
  step: number
  lineage: string
  tokenizer: string
  tasks: readonly { name: string; difficulty?: number | undefined }[]
  estimator: string
  corrections: readonly string[]
  learningRate: number
  /** Groups of rollouts that were trained on. */
  own?: number | undefined
  foreign?: number | undefined
  first?: CardEvaluation | undefined
  last?: CardEvaluation | undefined
}

export interface CardEvaluation {
  step: number
  prompts: number
  accuracy: number
  tasks: Record<string, number>
}

export function modelCard(facts: CardFacts): string {
  const { base, adapter, bare } = facts
  const name = safeText(base.name, { limit: 200, line: true })
  const title = bare ? `LoRA adapter for ${name}` : `${name}, post-trained`
  const lines = [
    '---',
    ...(base.onHub ? [`base_model: ${JSON.stringify(name)}`] : []),
    `library_name: ${bare ? 'peft' : 'transformers'}`,
    'pipeline_tag: text-generation',
    `tags: [${['waggle', 'reinforcement-learning', ...(adapter ? ['lora'] : [])].join(', ')}]`,
    '---',
    '',
    `# ${title}`,
    '',
    `Trained with Waggle by reinforcement learning with verifiable rewards for ${facts.step} optimizer steps.`,
    '',
    '## What was trained',
    '',
    `- From ${base.onHub ? `[${name}](https://huggingface.co/${name})` : name}${base.commit ? ` at commit \`${base.commit}\`` : ''}; SHA-256 of its decoder and weights \`${facts.lineage}\`, of its tokenizer and chat template \`${facts.tokenizer}\`.`,
    adapter
      ? `- LoRA of rank ${adapter.rank}, alpha ${adapter.alpha}, on ${adapter.targets.join(', ')}${bare ? '' : ', merged into the weights here'}; everything else is as it was.`
      : '- All parameters.',
    `- Stored as ${facts.dtype}${facts.dtype === 'f32' ? '' : '; trained in f32 and rounded'}.`,
    '',
    '## On what',
    '',
    ...facts.tasks.map(
      (task) => `- ${task.name}${task.difficulty === undefined ? '' : `, difficulty ${task.difficulty}`}`,
    ),
    '',
    `Advantages by ${facts.estimator}, corrections ${facts.corrections.join(', ') || 'none'}, learning rate ${facts.learningRate}.`,
    ...shareOf(facts),
    '',
    '## With what result',
    '',
    ...resultOf(facts),
    '',
  ]
  return lines.map((line) => safeText(line, { limit: 2000, line: true })).join('\n')
}

function shareOf({ own, foreign }: CardFacts): string[] {
  if (own === undefined || foreign === undefined || own + foreign === 0) return []
  const share = `${((100 * foreign) / (own + foreign)).toFixed(1)} %`
  return [
    foreign === 0
      ? `All ${own} groups of rollouts that it was trained on are its own.`
      : `Of ${own + foreign} groups of rollouts that it was trained on, ${foreign} (${share}) came from peers of a swarm; their rewards were recomputed here.`,
  ]
}

function resultOf({ first, last }: CardFacts): string[] {
  if (!last) return ['No held-out evaluation is on record.']
  const percent = (share: number | undefined) => (share === undefined ? '-' : `${(100 * share).toFixed(1)} %`)
  const before = first && first.step < last.step ? first : undefined
  const row = (name: string, a: number | undefined, b: number) =>
    `| ${name} |${before ? ` ${percent(a)} |` : ''} ${percent(b)} |`
  return [
    `Accuracy on held-out prompts (${last.prompts} in all), judged by the tasks' own verifiers, as the node measured it:`,
    '',
    `| task |${before ? ` step ${before.step} |` : ''} step ${last.step} |`,
    `|---|${before ? '---|' : ''}---|`,
    ...Object.entries(last.tasks).map(([name, accuracy]) => row(name, before?.tasks[name], accuracy)),
    row('mean', before?.accuracy, last.accuracy),
  ]
}
