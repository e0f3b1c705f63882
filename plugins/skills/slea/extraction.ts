// Extracts texts from trajectories. SLEA-RL (arXiv 2603.18079) does not say how its texts are written, and the
// released extractor is a rule-based placeholder. Here the policy is asked for one line per level, with a solved
// example before the request, and the lines are parsed strictly. If none can be parsed, one text is built
// mechanically, as in the placeholder. Texts that reveal the answer are dropped.

import type { Context } from '../../../protocol/plugin/index.ts'
import { type Example, type Group, isRight, promptKey, type Rollout } from '../../../protocol/train/index.ts'
import { askOnce, fittedPrompt, SOLVED } from '../library/asking.ts'
import type { Entry } from '../library/entry.ts'
import type { Library } from '../library/library.ts'
import { areAlike } from '../library/similarity.ts'
import type { Tally } from '../library/tally.ts'
import { cleanText } from '../library/text.ts'
import { STRATEGIES, scoreOf, WARNINGS } from './zones.ts'

interface Trajectory {
  group: Group
  rollout: Rollout
}

const SHOWN = 500
const SAMPLING = { temperature: 0.7, maxNewTokens: 128 }

type Verdict = 'right' | 'wrong'

const askedOf = (
  question: string,
  answer: string,
  { verdict, levels }: { verdict: Verdict; levels: readonly string[] },
): string =>
  `${question}\n\nThis answer is ${verdict}:\n${answer}\n\nSay what it teaches for other problems, one line each:\n${levels.map((level) => `${level}: ...`).join('\n')}`

const EXAMPLES: Record<Verdict, Example[]> = {
  right: [
    {
      question: askedOf(SOLVED, '<answer>48</answer>', { verdict: 'right', levels: STRATEGIES }),
      answer:
        'principle: each number is made from the one before by the same rule\nmethod: compare two neighbours and do the same to the last number\nexample: where numbers double, the last one is doubled again',
    },
  ],
  wrong: [
    {
      question: askedOf(SOLVED, '<answer>36</answer>', { verdict: 'wrong', levels: WARNINGS }),
      answer:
        'mistake: added the first difference again although it grows\npattern: takes the first rule that fits two numbers\ndiagnostic: test the rule on every number shown',
    },
  ],
}

const SHOWN_LINES = Object.values(EXAMPLES)
  .flat()
  .flatMap(({ answer }) => linesIn(answer, [...STRATEGIES, ...WARNINGS]).map(({ text }) => text))

/** The best successes and worst failures of untainted groups. */
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
    const verdict: Verdict = isRight(rollout) ? 'right' : 'wrong'
    const question = context.question(group.prompt)
    return fittedPrompt(
      (longest) =>
        askedOf(question, cleanText(rollout.text, { limit: longest, lines: true }), { verdict, levels }),
      { longest: SHOWN, answer: SAMPLING.maxNewTokens / 2, examples: EXAMPLES[verdict] },
      context,
    )
  })
  const fit = prompts.filter((prompt) => prompt !== undefined)
  const texts = (await askOnce(fit, SAMPLING, context)) ?? []
  const written = prompts.map((prompt) => (prompt === undefined ? undefined : texts.shift()?.text))
  return trajectories.flatMap(({ group, rollout }, i) => {
    const levels: readonly string[] = isRight(rollout) ? STRATEGIES : WARNINGS
    // A small model may repeat the example.
    const said = linesIn(written[i] ?? '', levels).filter(
      ({ text }) => !SHOWN_LINES.some((line) => areAlike(line, text)),
    )
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
