// What the default model is shown: training prompts of the built-in tasks, answered in several ways.
//
// As with any base model, only a part of the text is in the form that the verifier asks for. The rest states the
// answer in plain words or leaves the reasoning out, so that the model can do a part of each task and reinforcement
// has something real to find: the form that counts, and the reasoning that gets it right.

import type { Random } from '../../protocol/plugin/index.ts'
import type { Instance } from '../../protocol/train/index.ts'

export const STYLES = { worked: 0.4, bare: 0.2, untagged: 0.4 } as const

export function answerIn(style: keyof typeof STYLES, { steps, key }: Instance): string {
  const lines = steps.filter(({ level, aside }) => level > 1 && !aside).map(({ text }) => text)
  if (style === 'bare') return `<answer>${key}</answer>`
  if (style === 'untagged') return [...lines, `So it is ${key}.`].join('\n')
  return [...lines, `<answer>${key}</answer>`].join('\n')
}

export function drawStyle(random: Random): keyof typeof STYLES {
  let u = random()
  for (const [style, share] of Object.entries(STYLES) as [keyof typeof STYLES, number][]) {
    u -= share
    if (u < 0) return style
  }
  return 'worked'
}
