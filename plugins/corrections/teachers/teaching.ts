// On-policy distillation: a teacher scores the tokens of this node's own answers to its own prompts, and the loss gets the
// divergence from it beside the own advantage. Nothing a teacher writes is ever trained on.
//
//   + coefficient w D min(1, clip / D)      D: reverse KL at the token, over the teacher's `top` tokens and the rest
//
// A teacher with other tokens is compared by chunks instead: see chunks.ts. The factor after D has no gradient: a
// token's loss is at most `clip` nats and keeps its direction. w is the weight of the task's teacher (gate.ts):
// verified answers of the teacher to this node's own prompts decide who is listened to, and w falls to 0 as this node
// catches up. Tasks without a teacher go on learning by their rewards alone.

import { z } from 'zod'
import {
  add,
  column,
  detach,
  div,
  max,
  min,
  mul,
  where,
} from '../../../protocol/plugin/expression/expression.ts'
import type { Advantages, Context, Correction, Hooks, Teaching } from '../../../protocol/plugin/index.ts'
import { hasSignal, isRight, type Rollout } from '../../../protocol/train/index.ts'
import { baselineOf, chunkLoss, type ReadChunks, readChunks } from './chunks.ts'
import { createGate } from './gate.ts'
import { isOwn, itemOf } from './items.ts'
import { isSelf } from './self.ts'
import { createTrials } from './trials.ts'

export const settings = {
  coefficient: z.number().positive().default(1),
  /** Likeliest tokens of the teacher at each place; all others are one category. */
  top: z.int().min(1).max(1024).default(8),
  /** Nats. */
  clip: z.number().positive().default(2),
  /** Accuracy by which a teacher must be ahead. */
  margin: z.number().min(0).max(1).default(0.02),
  /** Lead from which on a teacher counts in full. */
  full: z.number().positive().max(1).default(0.1),
  /** Own prompts that a teacher answers before a batch, to be verified. */
  trials: z.int().min(1).default(8),
  /** Tokens of such answers, at most, before a batch. */
  tokens: z.int().positive().default(8192),
}
export type Settings = z.infer<z.ZodObject<typeof settings>> & { from: readonly string[] }

const PEERS = 'peers'
/** Pairs of task and teacher that are counted. */
const MAX_TAUGHT = 64

/** `name`: the plugin's. */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: short methods over what the gate has seen.
export function createTeaching(name: string, options: Settings): Hooks {
  const gate = createGate(options)
  let self: string | undefined
  /** Of the answers that are taught in the batch that is being prepared. */
  let taught = new Map<Rollout, { weight: number; chunks?: ReadChunks }>()

  /** Of own answers that were taught, by task and teacher. */
  const tokens = new Map<string, Taught>()
  const count = (by: Omit<Taught, 'tokens'>, more: number): void => {
    const key = keyOf(by)
    tokens.set(key, { ...by, tokens: (tokens.get(key)?.tokens ?? 0) + more })
    if (tokens.size > MAX_TAUGHT) tokens.delete(tokens.keys().next().value!)
  }

  const namesNow = (context: Pick<Context, 'teachers'>): string[] =>
    options.from.flatMap((from) =>
      from === PEERS
        ? context.teachers().flatMap((one) => (one.name.startsWith('peer/') ? [one.name] : []))
        : [from],
    )
  const trials = createTrials(options, { gate, names: namesNow })
  return {
    correct: (): Correction => {
      const divergence = column('divergence')
      const [weight, chunked] = [column(`${name}.weight`), column(`${name}.chunked`)]
      const clipped = mul(divergence, detach(min(1, div(options.clip, max(divergence, 1e-6)))))
      const ofChunk = chunkLoss(column(`${name}.theirs`), options)
      const either = add(where(weight, mul(weight, clipped), 0), where(chunked, mul(chunked, ofChunk), 0))
      return {
        penalty: mul(options.coefficient, either),
        metrics: { taught: where(add(weight, chunked), 1, 0), divergence: where(weight, divergence, 0) },
        columns: { weight: 0, chunked: 0, theirs: 0 },
      }
    },

    /** A teacher has something to say about answers that are all wrong, or all right. */
    group(groups, view, context) {
      self = view.self
      if (view.at === 'batch') return groups
      const among = namesNow(context)
      // Trials come before a batch. If no answer has a signal yet, there is none but for this.
      const isTrial =
        !groups.some(hasSignal) && trials.next([...new Set(groups.map(({ prompt }) => prompt.task))], context)
      return groups.map((group) =>
        group.author === view.self && !group.always && (isTrial || gate.teacherOf(group.prompt.task, among))
          ? { ...group, always: true }
          : group,
      )
    },

    observe(groups) {
      for (const group of groups) {
        const own = group.rollouts.filter(isOwn)
        if (group.arm !== 'base' || own.length === 0 || own.some(({ turns }) => turns)) continue
        const { task } = group.prompt
        gate.own(task, own.reduce((sum, one) => sum + (one.taskReward ?? one.reward), 0) / own.length)
        trials.answered({ prompt: group.prompt, group: own.some(isRight) ? group : undefined })
      }
    },

    async teach(groups, context) {
      const own = groups.map((group) => (self === undefined || group.author === self ? group : undefined))
      const tasks = [...new Set(own.flatMap((group) => group?.prompt.task ?? []))]
      await trials.play(tasks, context)
      const among = namesNow(context)
      const lessons = new Map(tasks.map((task) => [task, gate.teacherOf(task, among)]))
      const asked = own.flatMap((group, g) => {
        const lesson = group && lessons.get(group.prompt.task)
        return lesson
          ? group.rollouts.flatMap((rollout, r) => itemOf({ group, g, r, rollout, lesson }, context))
          : []
      })
      const teaching: Teaching = groups.map(({ rollouts }) => rollouts.map(() => undefined))
      taught = new Map()
      for (const [teacher, items] of Map.groupBy(asked, ({ lesson }) => lesson.teacher)) {
        const scores = await context.score(items, {
          top: options.top,
          ...(!isSelf(teacher) && { teacher }),
        })
        items.forEach(({ group, g, r, rollout, lesson }, i) => {
          const { top, chunks: said } = scores[i]!
          const sampled = rollout.behaviourLogprobs
          const chunks = said && sampled && readChunks(said, sampled)
          if (top) teaching[g]![r] = top
          if (!top && !chunks) return
          taught.set(rollout, { weight: lesson.weight, ...(chunks && { chunks }) })
          count({ task: group.prompt.task, teacher }, rollout.tokens.length)
        })
      }
      for (const { task, weight, accuracy, own: mine } of gate.listening()) {
        context.metric(`${task}.weight`, weight)
        context.metric(`${task}.lead`, accuracy - mine)
      }
      tellChunks([...taught.values()], context)
      context.metric('answers', asked.length)
      return teaching
    },

    columns(_, groups) {
      type Of = (given: { weight: number; chunks?: ReadChunks }) => number | Float32Array
      const each = (of: Of): Advantages =>
        groups.map(({ rollouts }) =>
          rollouts.map((rollout) => {
            const given = taught.get(rollout)
            return given ? of(given) : 0
          }),
        )
      const baseline = baselineOf([...taught.values()].flatMap(({ chunks }) => chunks ?? []))
      return {
        weight: each(({ weight, chunks }) => (chunks ? 0 : weight)),
        chunked: each(({ weight, chunks }) => chunks?.counts.map((one) => one * weight) ?? 0),
        theirs: each(({ chunks }) => chunks?.theirs.map((one) => one + baseline) ?? 0),
      }
    },

    taught() {
      const listening = gate.listening().map(({ task, teacher, weight, accuracy, own }) => ({
        ...{ task, teacher, weight, scores: { theirs: accuracy, own } },
        tokens: tokens.get(keyOf({ task, teacher }))?.tokens ?? 0,
      }))
      const known = new Set(listening.map(keyOf))
      // Teachers that this node has caught up with.
      const others = [...tokens.values()].filter((one) => !known.has(keyOf(one)))
      return [...listening, ...others.map((one) => ({ ...one, weight: 0 }))]
    },

    save: () => new TextEncoder().encode(JSON.stringify(gate.save())),
    load: (state) => gate.load(JSON.parse(new TextDecoder().decode(state))),
  }
}

interface Taught {
  task: string
  teacher: string
  tokens: number
}

const keyOf = ({ task, teacher }: Omit<Taught, 'tokens'>): string => JSON.stringify([task, teacher])

/** Of answers that are compared by chunks: nats a token, and the share of tokens that are in a chunk. */
function tellChunks(taught: readonly { chunks?: ReadChunks }[], context: Pick<Context, 'metric'>): void {
  const all = taught.flatMap(({ chunks }) => chunks ?? [])
  if (all.length === 0) return
  const sum = (of: (one: ReadChunks) => number): number => all.reduce((total, one) => total + of(one), 0)
  const counted = sum(({ counts }) => counts.reduce((a, b) => a + b, 0))
  context.metric('chunked', counted / sum(({ counts }) => counts.length))
  context.metric('gap', sum(({ gap }) => gap) / Math.max(1, counted))
}
