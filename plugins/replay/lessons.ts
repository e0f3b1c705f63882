// Lessons: a node learns skills that it lacks from trusted peers, by supervised learning on their right answers.
//
//   gap of a task = max(0, 1 - own share of right answers / that of its trusted peers)
//   lessons of a task in a batch = `lessons` * gap / number of tasks with a gap;  their loss = -log pi per token
//
// A peer with different skills is mismatched: its answers are so unlikely under this node's policy that importance
// weights nearly remove them. Supervised learning needs no such weights. A single pass teaches little, so right answers are
// kept and each is trained on `epochs` times. As the node catches up, the gaps close and lessons end; reinforcement
// learning does the rest. Both shares count only groups with a signal, since no others are sent, which makes them
// comparable.
//
// Supervised learning picks up everything in a right answer, even a hidden mark. So lessons come only from peers that
// the user named in `swarm.trust`; all other answers are ignored. This node's verifier has scored each of them. Lessons
// are borrowed rollouts: the norm of their gradient is at most that of the batch's own groups, and a batch without own
// groups has no lessons. Nothing is saved: after a restart the plugin waits for peers' answers again.

import { z } from 'zod'
import { column, neg } from '../../protocol/plugin/expression/expression.ts'
import { definePlugin } from '../../protocol/plugin/index.ts'
import { type Group, hasSignal, isRight, promptKey, type Rollout } from '../../protocol/train/index.ts'
import { contentId } from '../../protocol/wire/index.ts'

const settings = z.strictObject({
  /** Maximum number of lessons in a batch. */
  lessons: z.int().positive().max(512).default(32),
  /** How often each answer is trained on. */
  epochs: z.int().positive().default(8),
  /** Peers' groups with a signal that are needed before a task and level is taught. */
  groups: z.int().positive().default(4),
  /** Smallest gap that is taught. */
  least: z.number().min(0).max(1).default(0.25),
  /** Maximum right answers kept per task and level; the oldest are dropped first. */
  kept: z.int().positive().max(65_536).default(512),
})

const NAME = 'replay/lessons'
/** Decay of the counts per group. */
const FADE = 0.98

interface Lesson {
  author: string
  conditioning: Int32Array
  rollout: Rollout
  uses: number
}

/** What is known about one task and level. */
interface Level {
  /** Whether this node itself asks it. */
  asked: boolean
  own: Share
  peers: Share
  /** By prompt and text, oldest first. */
  lessons: Map<string, Lesson>
}

/** Decayed counts over groups with a signal. */
interface Share {
  right: number
  all: number
  groups: number
}

export default definePlugin({
  name: 'lessons',
  kind: 'replay',
  api: 1,
  summary: 'Supervision on right answers of trusted peers, in tasks where they are better.',
  settings,
  create(options) {
    const levels = new Map<string, Level>()
    let tokenizer = ''
    const levelOf = ({ prompt: { task, taskVersion, difficulty } }: Group): Level => {
      const key = `${task}@${taskVersion}/${difficulty}`
      const level = levels.get(key) ?? { asked: false, own: none(), peers: none(), lessons: new Map() }
      levels.set(key, level)
      return level
    }
    const gapOf = ({ asked, own, peers }: Level): number => {
      if (!asked || peers.groups < options.groups || peers.right === 0) return 0
      const gap = 1 - shareOf(own) / shareOf(peers)
      return gap >= options.least ? gap : 0
    }

    return {
      receive(groups) {
        for (const group of groups) {
          if (!group.trusted || group.arm !== 'base') continue
          const level = levelOf(group)
          count(level.peers, group)
          for (const rollout of group.rollouts) {
            const key = `${promptKey(group.prompt)}/${rollout.text}`
            if (!isRight(rollout) || rollout.finish !== 'stop' || rollout.turns || level.lessons.has(key))
              continue
            const { author, conditioning } = group
            level.lessons.set(key, { author, conditioning, rollout, uses: 0 })
            if (level.lessons.size > options.kept) level.lessons.delete(level.lessons.keys().next().value!)
          }
        }
      },

      observe(groups) {
        for (const group of groups) {
          if (group.arm !== 'base') continue
          const level = levelOf(group)
          level.asked = true
          count(level.own, group)
        }
      },

      group(groups, view, context) {
        if (tokenizer !== '' && tokenizer !== view.tokenizer) levels.clear()
        tokenizer = view.tokenizer
        const first = groups.find((group) => group.author === view.self && (group.always || hasSignal(group)))
        if (view.at !== 'batch' || !first) return groups
        const random = context.random(`lessons/${context.step}`)
        const taught = [...levels.values()].filter((level) => gapOf(level) > 0)
        const chosen = taught.flatMap((level) => {
          const most = Math.ceil((options.lessons * gapOf(level)) / taught.length)
          return leastUsed([...level.lessons.values()], random)
            .filter(({ uses }) => uses < options.epochs)
            .slice(0, most)
        })
        context.metric('lessons', chosen.length)
        if (chosen.length === 0) return groups
        for (const lesson of chosen) lesson.uses += 1
        return [...groups, asGroup(chosen, first, view.version)]
      },

      columns: (_, groups) => ({
        lesson: groups.map(({ origin, rollouts }) => rollouts.map(() => (origin?.plugin === NAME ? 1 : 0))),
      }),

      correct: () => ({
        columns: { lesson: 0 },
        instead: { where: column('lessons.lesson'), loss: neg(column('logprob')) },
      }),
    }
  },
})

const none = (): Share => ({ right: 0, all: 0, groups: 0 })

const shareOf = ({ right, all }: Share): number => (all > 0 ? right / all : 0)

function count(share: Share, group: Group): void {
  if (!hasSignal(group)) return
  share.right = FADE * share.right + group.rollouts.filter(isRight).length
  share.all = FADE * share.all + group.rollouts.length
  share.groups += 1
}

/** Least used lessons first; equally used ones in random order. */
function leastUsed(lessons: readonly Lesson[], random: () => number): Lesson[] {
  return lessons
    .map((lesson) => ({ lesson, place: lesson.uses + random() }))
    .sort((a, b) => a.place - b.place)
    .map(({ lesson }) => lesson)
}

/** An own group of borrowed rollouts, each under its own question. */
function asGroup(
  lessons: readonly Lesson[],
  { prompt, policy, author, bornAt }: Group,
  version: number,
): Group {
  const rollouts = lessons.map(({ author: by, conditioning, rollout: { text, tokens, finish } }): Rollout => {
    const segments = [{ version, start: 0, length: tokens.length }]
    return { author: by, conditioning, text, tokens, finish, reward: 1, segments }
  })
  return {
    id: contentId(
      prompt,
      rollouts.map(({ text }) => text),
    ),
    ...{ prompt, policy, author, bornAt, rollouts, bornVersion: version },
    conditioning: lessons[0]!.conditioning,
    arm: 'lesson',
    always: true,
    origin: { plugin: NAME },
  }
}
