// Writes the README of a model that was made, from its recipe and its measured accuracy.

import type { Accuracy } from './evaluate.ts'
import type { Recipe } from './recipes.ts'

export interface CardFacts {
  command: string
  parameters: number
  cycles: Recipe['cycles']
  batch: number
  seed: number
  sha256: string
  scores: Accuracy[]
}

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`

export function modelCard({ title, purpose, styles, won, tasks }: Recipe, facts: CardFacts): string {
  const rows = facts.scores.map(
    ({ task, difficulty, prompts, greedy, sampled, training }) =>
      `| ${task} | ${difficulty} | ${prompts} | ${percent(greedy)} | ${percent(sampled)} | ${percent(training)} |`,
  )
  const drawn = Object.entries(tasks).map(([task, { drawn }]) => `${task} ${drawn.join(', ')}`)
  const turns =
    'frozen_lake' in tasks
      ? ` Of the plays of tasks\nwith turns ${percent(won)} go the best way, the others at random.`
      : ''
  return `---
license: apache-2.0
library_name: waggle
---

# ${title}

A Llama of ${facts.parameters.toLocaleString('en')} parameters, ${purpose}

## How it was made

\`${facts.command}\` makes it again: random weights from seed ${facts.seed}, then ${facts.cycles.map(({ steps }) => steps).join(' and ')} steps of AdamW on ${facts.batch} generated examples each
(difficulties: ${drawn.join('; ')}) and no other text. A hash of the question keeps these apart from the questions that training asks and from those that are held out.

${percent(styles.worked)} of the examples work the answer out and put it between \`<answer>\` tags, ${percent(styles.bare)} give the tagged answer at once, ${percent(styles.untagged)}
work it out and state it without tags, which the verifiers do not accept. So a part of what reinforcement finds is the form.${turns}

## What it scores

On different held-out questions, with strict verifiers. \`sampled\` is at temperature 1; the last column is on as many questions that training asks.

| task | level | questions | greedy | sampled | sampled, training |
|---|---|---|---|---|---|
${rows.join('\n')}

SHA-256 of model.safetensors: \`${facts.sha256}\`
`
}
