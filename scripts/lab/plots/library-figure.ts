// What the program of docs/library.md learns.

import type { Figure } from './figure.ts'
import type { Reader } from './series.ts'

/** Steps in one point of the line: a step's mean is of 128 answers to 16 questions, and noisy. */
const STEPS = 5

export function library(read: Reader): Figure {
  const steps = read<{ step: number; reward: number }>('library')
  const points: [number, number][] = []
  for (let from = 0; from + STEPS <= steps.length; from += STEPS) {
    const part = steps.slice(from, from + STEPS)
    points.push([part.at(-1)!.step, part.reduce((sum, { reward }) => sum + reward, 0) / STEPS])
  }
  return {
    title: 'Sums of two numbers of two digits',
    panels: [
      {
        kind: 'lines',
        title: 'mean reward, every question new',
        x: 'step',
        series: [{ name: `means of ${STEPS} steps`, points }],
      },
    ],
  }
}
