// Summarises served calls in one line, for the terminal UI and `waggle status`.

import type { ServingInfo } from '../snapshot/index.ts'
import { count, decimal, si } from './format.ts'

export function servingText({
  listen,
  running,
  waiting,
  answered,
  abandoned,
  refused,
  tokensPerSecond,
  firstTokenSeconds,
  learning,
}: ServingInfo): string {
  return [
    `${count(running)} answered now`,
    `${count(waiting)} wait`,
    `${si(tokensPerSecond)} tok/s`,
    `${count(answered)} calls`,
    ...(firstTokenSeconds === undefined ? [] : [`first token after ${decimal(firstTokenSeconds)} s`]),
    ...(abandoned === 0 ? [] : [`${count(abandoned)} hung up`]),
    ...(refused === 0 ? [] : [`${count(refused)} refused`]),
    ...(listen === undefined ? [] : [`at ${listen}`]),
    learning
      ? `${count(learning.kept)} kept, ${count(learning.rated)} rated, ${count(learning.learnt)} learnt from${learning.again > 0 ? `, ${count(learning.again)} asked again` : ''}`
      : 'not trained on',
  ].join('  ')
}
