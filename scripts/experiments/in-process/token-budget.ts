// Gives a method a budget of generated tokens to spend as it likes, then evaluates its final policy.

import { mean } from '../../lab/frame/statistics.ts'
import type { LearnerAlone } from './learner-alone.ts'

export interface Learnt {
  /** Of the final policy. */
  reward: number
  /** Different held-out ones; not in records of before they were counted. */
  questions?: number
  sampled: number
  greedy: number
  updates: number
  /** Share of groups whose rewards differ; 0 where nothing was written. */
  signal: number
  /** Of this process, all of it included. */
  cpuSeconds: number
}

/** `tests` prompts a look. */
export async function learnFromTokens(node: LearnerAlone, tokens: number, tests: number): Promise<Learnt> {
  const before = process.cpuUsage()
  const signals: number[] = []
  let [written, updates] = [0, 0]
  while (written < tokens) {
    const round = await node.round()
    written += round.generatedTokens
    signals.push(round.signal)
    updates += round.report?.steps ?? 0
  }
  const reward = await node.reward(tests)
  const held = await node.evaluate(tests, 4)
  const { user, system } = process.cpuUsage(before)
  const signal = signals.length > 0 ? mean(signals) : 0
  return { reward, ...held, updates, signal, cpuSeconds: (user + system) / 1e6 }
}
