// Extracts texts from trajectories. SLEA-RL (arXiv 2603.18079) does not say how its texts are written, and
// the released extractor is a rule-based placeholder. Here the policy is asked for one line per level, and
// the lines are parsed strictly. If it gives none, one text is built mechanically, as in the placeholder.
// Texts that reveal the answer are dropped.

import type { Context } from '../../../protocol/plugin/index.ts'
import { type Group, isRight, promptKey, type Rollout } from '../../../protocol/train/index.ts'
import { askOnce, fittedPrompt } from '../library/asking.ts'
import type { Entry } from '../library/entry.ts'
import type { Library } from '../library/library.ts'
import type { Tally } from '../library/tally.ts'
import { cleanText } from '../library/text.ts'
import { STRATEGIES, scoreOf, WARNINGS } from './zones.ts'

export interface Trajectory {
  group: Group
  rollout: Rollout
}

const SHOWN = 500
const SAMPLING = { temperature: 0.7, maxNewTokens: 128 }

/** The best successes and worst failures of groups whose context reveals nothing of the solution. */
export function trajectoriesOf(groups: readonly Group[], most: number): Trajectory[] {
  const all = groups
    .filter(({ tainted }) => !tainted)
    .flatMap((group) => group.rollouts.map((rollout) => ({ group, rollout })))
  const scoreOfOne = ({ rollout }: Trajectory): number => rollout.taskReward ?? rollout.reward
  const best = all.filter(({ rollout }) => isRight(rollout)).sort((a, b) => scoreOfOne(b) - scoreOfOne(a))
  const worst = all.filter(({ rollout }) => !isRight(rollout)).sort((a, b) => scoreOfOne(a) - scoreOfOne(b))
  return [...best.slice(0, most), ...worst.slice(0, most)]
}

export async function extract(
  trajectories: readonly Trajectory[],
  { library, tally }: { library: Library; tally: Tally },
  context: Context,
): Promise<Entry[]> {
  const prompts = trajectories.map(({ group, rollout }) => {
    const levels = isRight(rollout) ? STRATEGIES : WARNINGS
    const verdict = isRight(rollout) ? 'right' : 'wrong'
    const lines = levels.map((level) => `${level}: ...`).join('\n')
    return fittedPrompt(
      (longest) =>
        `${context.question(group.prompt)}\n\nThis answer is ${verdict}:\n${cleanText(rollout.text, { limit: longest, lines: true })}\n\nSay what it teaches for other problems, one line each:\n${lines}`,
      { longest: SHOWN, answer: SAMPLING.maxNewTokens / 2 },
      context,
    )
  })
  const fit = prompts.filter((prompt) => prompt !== undefined)
  const texts = (await askOnce(fit, SAMPLING, context)) ?? []
  const written = prompts.map((prompt) => (prompt === undefined ? undefined : texts.shift()?.text))
  return trajectories.flatMap(({ group, rollout }, i) => {
    const levels: readonly string[] = isRight(rollout) ? STRATEGIES : WARNINGS
    const said = linesIn(written[i] ?? '', levels)
    if (written[i] !== undefined) tally.count(said.length > 0)
    const found = said.length > 0 ? said : mechanical(rollout, group.prompt.task)
    return found.flatMap(({ zone, text }) => {
      const score = scoreOf(zone, { score: rollout.taskReward ?? rollout.reward, step: context.step })
      if (score === undefined || context.leaks(group.prompt, text)) return []
      const from = promptKey(group.prompt)
      return library.admit({ text, zone, score, from, author: 'self', step: context.step }) ?? []
    })
  })
}

/** Parses `level: text`, each level once, with at least three words. */
export function linesIn(text: string, levels: readonly string[]): Array<{ zone: string; text: string }> {
  const found = new Map<string, string>()
  for (const line of text.split('\n')) {
    const [, zone, rest] = /^\s*[-*]?\s*([a-z]+):\s+(\S.*)$/.exec(line) ?? []
    if (!zone || !levels.includes(zone) || found.has(zone)) continue
    if (rest!.trim().split(/\s+/).length >= 3) found.set(zone, rest!)
  }
  return [...found].map(([zone, rest]) => ({ zone, text: rest }))
}

function mechanical(rollout: Rollout, task: string): Array<{ zone: string; text: string }> {
  // The last line contains the answer.
  const steps = cleanText(rollout.text, { limit: SHOWN, lines: true }).split('\n').slice(0, -1).join(' ')
  if (steps === '') return []
  return isRight(rollout)
    ? [{ zone: 'method', text: `${task}: ${steps.slice(0, 160)}` }]
    : [{ zone: 'mistake', text: `${task}, wrong: ${steps.slice(0, 160)}` }]
}
