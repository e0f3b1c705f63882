// What agents that call tools learn.

import type { Figure } from './figure.ts'
import type { Reader } from './series.ts'

interface Run {
  arm: string
  seed: number
  curve: readonly { groups: number; reward: number }[]
}

const TITLES: Record<string, string> = {
  calculator: "calculator, Vercel's ai",
  shop: "shop, OpenAI's client and MCP",
}

export function agents(read: Reader): Figure {
  const runs = read<Run>('agents')
  return {
    title: 'SmolLM2-135M learns to call tools',
    panels: Object.entries(TITLES).map(([name, title]) => ({
      kind: 'lines',
      title,
      x: 'groups of four attempts',
      series: runs
        .filter(({ arm }) => arm === name)
        .map(({ seed, curve }) => ({
          name: `seed ${seed}`,
          points: pairs(curve).map(([a, b]) => [b.groups, (a.reward + b.reward) / 2]),
        })),
    })),
  }
}

/** A point of a curve is two groups, and noisy. */
function pairs<Value>(values: readonly Value[]): [Value, Value][] {
  return values.flatMap((value, i) => (i % 2 === 1 ? [[values[i - 1]!, value] as [Value, Value]] : []))
}
