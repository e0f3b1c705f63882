// A sum task and a policy for it, for trying plugins. The policy never solves a third of the prompts without a
// hint, solves another third now and then, and the rest mostly.

import type { PromptCoordinates } from '../../train/index.ts'
import { PLUGIN_API } from '../plugin.ts'
import { defineTask } from '../task.ts'

export const SUMS = defineTask({
  name: 'sums',
  kind: 'task',
  api: PLUGIN_API,
  summary: 'Sums of two numbers.',
  version: 1,
  difficulty: { min: 1, max: 4, default: 2, describe: (level) => `${level} digits each` },
  generate({ seed, difficulty }) {
    const size = 10 ** difficulty
    const [a, b] = [Math.imul(seed, 7919) >>> 0, Math.imul(seed + 1, 104_729) >>> 0].map((n) => n % size)
    const key = String(a! + b!)
    return {
      question: `What is ${a} + ${b}?`,
      key,
      steps: [
        { level: 1, text: 'Add the numbers digit by digit, from the right.' },
        { level: 2, text: `Write ${a} above ${b}.` },
        { level: 3, text: 'Carry where a column has more than 9.' },
        { level: 4, text: 'Read the digits from left to right.' },
        { level: 5, text: `The sum is ${key}.`, value: key },
      ],
    }
  },
  verify({ key }, completion) {
    const answer = /<answer>([^<]*)<\/answer>/.exec(completion)?.[1]?.trim() ?? null
    return { score: answer === key ? 1 : 0, answer, found: answer === null ? 'none' : 'tag' }
  },
})

export function sumAt(seed: number): PromptCoordinates {
  return { task: SUMS.name, taskVersion: SUMS.version, seed, difficulty: 2 }
}

/** The policy's answer; `chance` in [0, 1). */
export function answerSum({ seed }: PromptCoordinates, arm: string, chance: number): string {
  const { key } = SUMS.generate({ seed, difficulty: 2 })
  const skill = [0, 0.4, 0.9][seed % 3]! + (/hint/.test(arm) ? 0.5 : 0)
  const right = chance < skill
  const wrong = String(Number(key) + 1 + (seed % 5))
  return `${right ? 'Adding by columns' : 'Guessing'}: <answer>${right ? key : wrong}</answer>`
}
