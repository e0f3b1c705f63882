// Draws the figures of the pages in docs/results from the records beside them: `npm run -s experiment:plots`.
// To plot a run of your own, put its records in docs/results under the experiment's name.

import { readFileSync, writeFileSync } from 'node:fs'
import { agents } from './plots/agent-figure.ts'
import { episodes, estimators, staleness } from './plots/arm-figures.ts'
import { type Figure, svgOf } from './plots/figure.ts'
import { library } from './plots/library-figure.ts'
import type { Reader } from './plots/series.ts'
import { daemons, mixed, savings } from './plots/swarm-figures.ts'

const DOCS = new URL('../../docs/', import.meta.url)

const FIGURES: Record<string, (read: Reader) => Figure> = {
  agents,
  daemons,
  episodes,
  estimators,
  library,
  mixed,
  savings,
  staleness,
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
