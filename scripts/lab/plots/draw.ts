// Draws the figures of the pages in docs/results from the records beside them: `npm run -s lab:plots`.
// To plot a run of your own, put its records in docs/results under the experiment's name.

import { readFileSync, writeFileSync } from 'node:fs'
import { agents } from './agent-figure.ts'
import { type Figure, svgOf } from './figure.ts'
import { library } from './library-figure.ts'
import type { Reader } from './series.ts'
import { daemons, savings } from './swarm-figures.ts'
import { weights } from './weights-figure.ts'

const DOCS = new URL('../../../docs/', import.meta.url)

const FIGURES: Record<string, (read: Reader) => Figure> = {
  agents,
  daemons,
  library,
  savings,
  weights,
}

const read: Reader = <Run>(file: string): Run[] =>
  readFileSync(new URL(`results/${file}.jsonl`, DOCS), 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Run)

/** Where each figure belongs and what it is, from the records as they are. */
export function drawAll(): { file: URL; svg: string }[] {
  return Object.entries(FIGURES).map(([name, figure]) => ({
    file: new URL(`images/results-${name}.svg`, DOCS),
    svg: svgOf(figure(read)),
  }))
}

if (import.meta.main) for (const { file, svg } of drawAll()) writeFileSync(file, svg)
