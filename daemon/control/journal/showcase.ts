// The newest groups, kept for users to look at. In memory, bounded, and without effect on training: `waggle rollouts`
// and the screen's Rollouts tab read them. Question and key are regenerated from the coordinates.

import {
  type GroupsQuery,
  type GroupView,
  MAX_SAMPLE_CHARS,
  type SampleView,
} from '../../../protocol/api/index.ts'
import { type Task, TURN_MARK } from '../../../protocol/plugin/index.ts'
import { peerName } from '../../../protocol/text.ts'
import type { Group, Rollout } from '../../../protocol/train/index.ts'

export interface Showcase {
  add(group: Group, origin: 'own' | 'foreign'): void
  /** These groups have been trained on. */
  used(ids: readonly string[]): void
  list(query: GroupsQuery): GroupView[]
}

interface ShowcaseParts {
  find(name: string, version: number): Task | undefined
}

export function createShowcase({ capacity = 64 }: { capacity?: number }, { find }: ShowcaseParts): Showcase {
  /** Oldest first. Each view is made once, on the first request. */
  let kept: Array<{ group: Group; origin: 'own' | 'foreign'; view?: GroupView; used?: true }> = []
  return {
    add(group, origin) {
      kept.push({ group, origin })
      if (kept.length > 2 * capacity) kept = kept.slice(-capacity)
    },
    used(ids) {
      const wanted = new Set(ids)
      for (const entry of kept) if (wanted.has(entry.group.id)) entry.used = true
    },
    list({ limit = capacity, origin }) {
      return kept
        .slice(-capacity)
        .filter((entry) => origin === undefined || entry.origin === origin)
        .slice(-limit)
        .reverse()
        .map((entry) => {
          entry.view ??= viewOf(entry.group, entry.origin, find)
          return entry.used ? { ...entry.view, used: true } : entry.view
        })
    },
  }
}

function viewOf(group: Group, origin: 'own' | 'foreign', find: ShowcaseParts['find']): GroupView {
  const { id, prompt, author, arm, policy, rollouts, bornAt } = group
  return {
    id,
    time: bornAt,
    origin,
    author,
    authorName: peerName(author),
    task: prompt.task,
    seed: prompt.seed,
    difficulty: prompt.difficulty,
    arm,
    version: policy.version,
    rewards: rollouts.map(({ reward, taskReward }) => taskReward ?? reward),
    ...question(prompt, find),
    samples: rollouts.map(sampleOf),
  }
}

function question(prompt: Group['prompt'], find: ShowcaseParts['find']): { question?: string; key?: string } {
  try {
    const instance = find(prompt.task, prompt.taskVersion)?.generate(prompt)
    return instance
      ? { question: instance.question.slice(0, MAX_SAMPLE_CHARS), key: instance.key.slice(0, 256) }
      : {}
  } catch {
    // If the prompt can no longer be generated here, the view has no question.
    return {}
  }
}

function sampleOf(rollout: Rollout): SampleView {
  const { reward, taskReward, tokens, finish, behaviourLogprobs, lossMask } = rollout
  const own = behaviourLogprobs?.filter((_, i) => lossMask?.[i] !== 0)
  const mean = own?.length ? own.reduce((a, b) => a + b, 0) / own.length : undefined
  return {
    text: shownText(rollout).slice(0, MAX_SAMPLE_CHARS),
    reward: taskReward ?? reward,
    tokens: tokens.length,
    finish,
    ...(mean === undefined ? {} : { behaviourLogprob: mean }),
  }
}

/** An episode's text, with the environment's observations between the answers. */
function shownText({ text, turns }: Rollout): string {
  if (!turns) return text
  const answers = text.split(TURN_MARK)
  return answers
    .map((answer, i) => (i === 0 ? answer : `> ${turns[i]?.observation ?? ''}\n${answer}`))
    .join('\n')
}
