// The README of an exported model: what was trained, on what data and with what result, as text and as metadata for
// model hubs. Everything comes from the run's own records; what they lack is left out.

import {
  accuracyText,
  directionOf,
  percent,
  stepsText,
  type TrainingPhase,
  trainingText,
} from '../../../protocol/api/index.ts'
import { safeText } from '../../../protocol/text.ts'
import type { AdapterSpec } from '../../engine/decoder.ts'
import type { BaseFacts } from '../files/base-facts.ts'
import type { JoinedPeer, JoinedPeers } from '../trained.ts'

export interface CardFacts {
  base: CardBase
  adapter?: AdapterSpec | undefined
  /** True if only the adapter is exported. */
  bare: boolean
  dtype: string
  step: number
  lineage: string
  tokenizer: string
  /** How a node trained it. A program with its own loop keeps no such record. */
  phases?: readonly TrainingPhase[] | undefined
  /** Number of groups of rollouts that were trained on. */
  own?: number | undefined
  foreign?: number | undefined
  /** Peers whose weights were averaged into these. */
  joined?: JoinedPeers | undefined
  first?: CardEvaluation | undefined
  last?: CardEvaluation | undefined
}

export interface CardBase extends BaseFacts {
  /** Never a path. */
  title: string
  /** Its name on the hub, if it is from there. */
  hub?: string | undefined
  commit?: string | undefined
  /** SHA-256 of its GGUF file. */
  fileDigest?: string | undefined
}

export interface CardEvaluation {
  step: number
  prompts: number
  accuracy: number
  tasks: Record<string, number>
  /** Accuracy of greedy answers. */
  greedy?: number | undefined
}

export function modelCard(facts: CardFacts): string {
  const { base, adapter, bare } = facts
  const name = nameOf(base)
  const title = titleOf(facts)
  const lines = [
    '---',
    ...(base.hub ? [`base_model: ${JSON.stringify(name)}`] : []),
    ...licenseOf(base),
    `library_name: ${bare ? 'peft' : 'transformers'}`,
    'pipeline_tag: text-generation',
    `tags: [${['waggle', 'reinforcement-learning', ...(adapter ? ['lora'] : [])].join(', ')}]`,
    ...modelIndexOf(facts),
    '---',
    '',
    `# ${title}`,
    '',
    `Trained with Waggle by reinforcement learning with verifiable rewards for ${facts.step} optimizer steps.`,
    '',
    '## What was trained',
    '',
    `- From ${base.hub ? `[${name}](https://huggingface.co/${base.hub})` : name}${base.commit ? ` at commit \`${base.commit}\`` : ''}; SHA-256 of its decoder and weights \`${facts.lineage}\`, of its tokenizer and chat template \`${facts.tokenizer}\`${base.fileDigest ? `, of its GGUF file \`${base.fileDigest}\`` : ''}.`,
    adapter
      ? `- LoRA of rank ${adapter.rank}, alpha ${adapter.alpha}, on ${adapter.targets.join(', ')}${bare ? '' : ', merged into the weights here'}; everything else is as it was.`
      : '- All parameters.',
    `- Stored as ${facts.dtype}${facts.dtype === 'f32' ? '' : '; trained in f32 and rounded'}.`,
    base.license
      ? `- The licence is that of the base model: ${base.license}.`
      : '- The licence is that of the base model, which does not name one in its files.',
    '',
    '## On what',
    '',
    ...methodOf(facts),
    ...shareOf(facts),
    ...joinedOf(facts),
    '',
    '## With what result',
    '',
    ...resultOf(facts),
    '',
  ]
  return lines.map((line) => safeText(line, { limit: 2000, line: true })).join('\n')
}

const nameOf = ({ hub, title }: CardBase): string => safeText(hub ?? title, { limit: 200, line: true })

const titleOf = ({ base, bare }: CardFacts): string =>
  bare ? `LoRA adapter for ${nameOf(base)}` : `${nameOf(base)}, post-trained`

/** The hub knows licences by identifiers; any other text is its name. */
function licenseOf({ license }: CardBase): string[] {
  if (license === undefined) return []
  return /^[a-z0-9][a-z0-9.+-]*$/.test(license)
    ? [`license: ${license}`]
    : ['license: other', `license_name: ${JSON.stringify(license)}`]
}

/** The hub's format for results. JSON is YAML, so each result is one line. */
function modelIndexOf(facts: CardFacts): string[] {
  const { last } = facts
  if (!last) return []
  const results = Object.entries(last.tasks).map(([task, value]) => ({
    task: { type: 'text-generation', name: 'Text Generation' },
    dataset: { type: `waggle/${task}`, name: `${task}, held-out questions` },
    metrics: [{ type: 'accuracy', name: `accuracy, sampled, step ${last.step}`, value }],
  }))
  return [
    'model-index:',
    `- name: ${JSON.stringify(titleOf(facts))}`,
    '  results:',
    ...results.map((result) => `  - ${JSON.stringify(result)}`),
  ]
}

function methodOf({ phases = [], step }: CardFacts): string[] {
  if (phases.length === 0)
    return [
      step === 0
        ? 'No step was taken yet.'
        : 'How is not on record: it was trained by a program that used Waggle as a library, or by an older version.',
    ]
  const missing = phases[0]!.from - 1
  return [
    ...(missing > 0 ? [`How steps 1 to ${missing} were trained is not on record.`, ''] : []),
    ...phases.map((phase) => `- ${stepsText(phase)}: ${trainingText(phase)}.`),
    '',
  ]
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

/** Peers that a card names one by one. */
const MAX_NAMED = 32

function joinedOf({ joined, own }: CardFacts): string[] {
  if (!joined) return []
  const peers = [...joined.peers].sort((a, b) => b.heads - a.heads)
  const rest = peers.slice(MAX_NAMED)
  const mine = own === undefined ? '' : ` beside ${own} of its own`
  return [
    '',
    `Weights of ${peers.length} ${peers.length === 1 ? 'peer were' : 'peers were'} averaged into these. By their own account, which nobody checked, ${joined.groups} groups are behind them${mine}:`,
    '',
    ...peers.slice(0, MAX_NAMED).map(joinedText),
    ...(rest.length > 0 ? [`- ${rest.length} more peers, ${sumOf(rest)} heads`] : []),
  ]
}

const sumOf = (peers: readonly JoinedPeer[]): number => peers.reduce((sum, { heads }) => sum + heads, 0)

const joinedText = ({ peer, heads, groups }: JoinedPeer): string =>
  `- \`${safeText(peer, { limit: 80, line: true })}\`: ${heads} ${heads === 1 ? 'head' : 'heads'}, the newest after ${groups} groups`

function resultOf({ first, last }: CardFacts): string[] {
  if (!last) return ['No held-out evaluation is on record.']
  const before = first && first.step < last.step ? first : undefined
  const row = (name: string, a: string, b: string) => `| ${name} |${before ? ` ${a} |` : ''} ${b} |`
  const mean = (one: CardEvaluation | undefined) => (one ? accuracyText(one.accuracy, one.prompts) : '-')
  const greedy = (one: CardEvaluation | undefined) =>
    one?.greedy === undefined ? '-' : accuracyText(one.greedy, one.prompts)
  return [
    `Accuracy on held-out prompts (${last.prompts} in all), judged by the tasks' own verifiers, as the node measured it. In parentheses: 95 % intervals.`,
    '',
    `| task |${before ? ` step ${before.step} |` : ''} step ${last.step} |`,
    `|---|${before ? '---|' : ''}---|`,
    ...Object.entries(last.tasks).map(([name, accuracy]) =>
      row(name, percent(before?.tasks[name]), percent(accuracy)),
    ),
    row('mean', mean(before), mean(last)),
    ...(last.greedy === undefined ? [] : [row('mean, most likely answers', greedy(before), greedy(last))]),
    ...verdictOf(before, last),
  ]
}

/** Says whether the table shows a gain. */
function verdictOf(before: CardEvaluation | undefined, last: CardEvaluation): string[] {
  if (!before) return []
  const direction = directionOf(
    { share: before.accuracy, n: before.prompts },
    { share: last.accuracy, n: last.prompts },
  )
  const words = {
    up: 'The mean rose by more than chance explains.',
    down: 'The mean fell by more than chance explains.',
    unclear: 'With so many questions, the change of the mean may be chance.',
  }
  return ['', words[direction]]
}
