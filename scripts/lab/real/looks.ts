// Looks at a daemon's policy after so many steps: it pauses and answers held-out questions, which is not part of the cost.

import { setTimeout as sleep } from 'node:timers/promises'
import type { NodeProcess } from '../nodes/process.ts'

export interface DaemonLook {
  step: number
  /** Since the daemon began, loading and its own evaluations included, asked ones not. */
  processorSeconds: number
  seconds: number
  groups: number
  sampled: number
  greedy: number
  questions: number
}

/** `steps`: rising. `questions`: of each task. */
export async function lookAt(
  node: NodeProcess,
  { steps, questions, log }: { steps: readonly number[]; questions: number; log(line: string): void },
): Promise<DaemonLook[]> {
  const started = performance.now()
  const looks: DaemonLook[] = []
  let asked = { processor: 0, seconds: 0 }
  for (const wanted of steps) {
    let at = await node.snapshot()
    while ((at.training?.step ?? 0) < wanted) {
      await sleep(250)
      at = await node.snapshot()
    }
    await node.pause()
    const [before, since] = [node.processorSeconds(), performance.now()]
    const evaluation = await node.evaluate(questions)
    const look = {
      ...{ step: at.training?.step ?? 0, groups: at.rollouts?.generated ?? 0 },
      processorSeconds: before - asked.processor,
      seconds: (since - started) / 1000 - asked.seconds,
      sampled: evaluation.accuracy,
      greedy: evaluation.greedy?.accuracy ?? Number.NaN,
      questions: evaluation.prompts,
    }
    looks.push(look)
    log(JSON.stringify(look))
    asked = {
      processor: asked.processor + node.processorSeconds() - before,
      seconds: asked.seconds + (performance.now() - since) / 1000,
    }
    await node.resume()
  }
  return looks
}
