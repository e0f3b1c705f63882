// A made model's card, made from what was done and measured.

import type { Recipe } from './recipes.ts'

export interface CardFacts {
  command: string
  parameters: number
  steps: number
  batch: number
  seed: number
  prompts: number
  sha256: string
  scores: { task: string; difficulty: number; meaning: string; greedy: number; sampled: number }[]
}

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`

export function modelCard({ title, purpose, styles, won, tasks }: Recipe, facts: CardFacts): string {
  const rows = facts.scores.map(
    ({ task, difficulty, meaning, greedy, sampled }) =>
      `| ${task} | ${difficulty} | ${meaning} | ${percent(greedy)} | ${percent(sampled)} |`,
  )
  const drawn = Object.entries(tasks).map(([task, { drawn }]) => `${task} ${drawn.join(', ')}`)
  const turns =
    'frozen_lake' in tasks
      ? ` Tasks with turns are played\nat random for the most part; ${percent(won)} of the plays go the best way.`
      : ''
  return `---
license: apache-2.0
library_name: waggle
---

# ${title}

A Llama of ${facts.parameters.toLocaleString('en')} parameters, ${purpose}

## How it was made

\`${facts.command}\` makes it again: random weights from seed ${facts.seed}, then ${facts.steps} steps of AdamW on ${facts.batch} generated
examples each, drawn from the tasks' training seeds only (difficulties: ${drawn.join('; ')}). No text from anywhere else
was used. Held-out questions never occur in training: tasks keep the two apart by a hash of the question.

Like a base model, it has seen more than one way to answer: ${percent(styles.worked)} of the examples work the answer out and put it between
\`<answer>\` tags, ${percent(styles.bare)} give the tagged answer at once, ${percent(styles.untagged)} work it out and state it without tags, which the
verifiers do not accept. So a part of what reinforcement finds is the form, and a part is the task itself.${turns}

## What it scores

Held-out prompts, ${facts.prompts} a task, strict verifiers; \`sampled\` is at temperature 1.

| task | level | what that is | greedy | sampled |
|---|---|---|---|---|
${rows.join('\n')}

SHA-256 of model.safetensors: \`${facts.sha256}\`
`
}
