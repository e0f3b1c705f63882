// A picker for swarms: a part of the prompts is the same for all nodes, and what peers solved and this node
// does not is asked again.
//
// Of a round's prompts, `again` are questions that a peer answered rightly and this node never did; `common` come
// from a set that follows from the swarm's name, so that nodes meet on them; the rest are new, as with
// `uniform`. Every node walks through the set from a place of its own, so that at any time nodes are at
// different prompts and hear of what lies ahead. Of a data set, the set is rows by their numbers.
//
// Peers choose what is asked again, so that is bounded: it must be a prompt of the common set or one that this
// node asked before, at its own level, at most `tries` times each. A prompt that it has not tried counts as
// too hard only where its level is: where a group of its own is more likely all wrong than not.

import { createHash } from 'node:crypto'
import { z } from 'zod'
import { type Ask, definePlugin, type Random, type SelectView } from '../../protocol/plugin/index.ts'
import { type Group, HELD_OUT_SEED, type PromptCoordinates, promptKey } from '../../protocol/train/index.ts'
import { ranked } from './uniform.ts'

const settings = z
  .strictObject({
    /** Share of prompts from the swarm's set. */
    common: z.number().min(0).max(1).default(0.5),
    /** Largest share of prompts that are asked again. */
    again: z.number().min(0).max(1).default(0.25),
    /** Prompts in the set, per task and level. */
    size: z.int().positive().max(65_536).default(512),
    /** How often a prompt is asked again. */
    tries: z.int().positive().default(2),
  })
  .refine(({ common, again }) => common + again <= 1, {
    message: 'common and again must not exceed 1 together',
  })

/** Prompts that are remembered, of each sort; the oldest are forgotten. */
const MOST = 8192
/** Decay per group of a level's counts. */
const FADE = 0.98

const prompt = z.strictObject({
  task: z.string(),
  taskVersion: z.number(),
  seed: z.number(),
  difficulty: z.number(),
})
const savedSchema = z.strictObject({
  turn: z.int().nonnegative(),
  walked: z.array(z.tuple([z.string(), z.int().nonnegative()])),
  failed: z.array(z.string()).max(MOST),
  solved: z.array(z.string()).max(MOST),
  wanted: z.array(z.tuple([z.string(), prompt, z.int().nonnegative()])).max(MOST),
  levels: z.array(z.tuple([z.string(), z.number(), z.number()])),
})

type TaskView = SelectView['tasks'][number]

export default definePlugin({
  name: 'common',
  kind: 'selector',
  api: 1,
  summary: 'Asks prompts that a swarm has in common, and again what peers solved.',
  settings,
  manifest: { budget: () => ({ stateBytes: 8 * 2 ** 20 }) },
  create({ common, again, size, tries }) {
    let turn = 0
    /** By task and level: how many prompts of the set were asked. */
    const walked = new Map<string, number>()
    /** Keys of prompts that this node answered: never rightly, and at least once. */
    const failed = new Set<string>()
    const solved = new Set<string>()
    /** Prompts that peers solved, with how often they were asked again. */
    const wanted = new Map<string, { prompt: PromptCoordinates; asked: number }>()
    /** By task and level: decayed numbers of right answers, and of all. */
    const levels = new Map<string, [number, number]>()
    /** Keys of the set, by swarm, task and level. Not saved. */
    const sets = new Map<string, Set<string>>()

    const setOf = (swarm: string, task: TaskView): Set<string> => {
      const name = `${swarm}/${levelOf(task)}`
      const known = sets.get(name)
      if (known) return known
      const keys = Array.from({ length: lengthOf(task, size) }, (_, i) =>
        promptKey(commonPrompt(swarm, task, i)),
      )
      const made = new Set(keys)
      sets.set(name, made)
      return made
    }
    /** True if a group of new prompts of this level is more likely all wrong than not. */
    const isHard = (level: string, rollouts: number): boolean => {
      const [right, all] = levels.get(level) ?? [0, 0]
      return all > 0 && (1 - right / all) ** rollouts > 0.5
    }

    /** Takes them, in random order. */
    const askedAgain = (view: SelectView, most: number, random: Random): Ask[] => {
      const candidates = view.candidates && new Set(view.candidates.map(promptKey))
      const fit = [...wanted].filter(([key, { prompt: at, asked }]) => {
        const task = view.tasks.find((one) => one.name === at.task && one.version === at.taskVersion)
        if (!task || task.difficulty !== at.difficulty || asked >= tries) return false
        if (failed.has(key)) return true
        const isCommon = candidates?.has(key) ?? (view.swarm && setOf(view.swarm.name, task).has(key))
        return isCommon === true && isHard(levelOf(task), view.rollouts)
      })
      return ranked(fit.length, undefined, 'draw', random)
        .slice(0, most)
        .map((index) => {
          const [, entry] = fit[index]!
          entry.asked += 1
          return { prompt: entry.prompt, rollouts: view.rollouts }
        })
    }

    const nextCommon = (swarm: NonNullable<SelectView['swarm']>, task: TaskView): PromptCoordinates => {
      const level = levelOf(task)
      const step = walked.get(level) ?? 0
      walked.set(level, step + 1)
      const length = lengthOf(task, size)
      return commonPrompt(swarm.name, task, (hash(`${swarm.self}/${level}`) + step) % length)
    }

    return {
      save: () =>
        new TextEncoder().encode(
          JSON.stringify({
            turn,
            walked: [...walked],
            failed: [...failed],
            solved: [...solved],
            wanted: [...wanted].map(([key, entry]) => [key, entry.prompt, entry.asked]),
            levels: [...levels].map(([level, counts]) => [level, ...counts]),
          }),
        ),
      load(state) {
        const saved = savedSchema.parse(JSON.parse(new TextDecoder().decode(state)))
        for (const kept of [walked, failed, solved, wanted, levels]) kept.clear()
        turn = saved.turn
        for (const [level, steps] of saved.walked) walked.set(level, steps)
        for (const key of saved.failed) failed.add(key)
        for (const key of saved.solved) solved.add(key)
        for (const [key, at, asked] of saved.wanted) wanted.set(key, { prompt: at, asked })
        for (const [level, right, all] of saved.levels) levels.set(level, [right, all])
      },

      receive(groups) {
        for (const { arm, prompt: at, rollouts } of groups) {
          const key = promptKey(at)
          if (arm !== 'base' || solved.has(key) || wanted.has(key)) continue
          if (!rollouts.some(({ reward }) => reward > 0.5)) continue
          wanted.set(key, { prompt: at, asked: 0 })
          if (wanted.size > MOST) wanted.delete(wanted.keys().next().value!)
        }
      },

      select(view, want, context): Ask[] {
        const { tasks, rollouts, candidates, weights, swarm } = view
        if (tasks.length === 0) return []
        const random = context.random(`prompts/${context.step}/${turn}`)
        /** Rounds to a whole number whose mean is the share. */
        const part = (share: number): number => Math.floor(share * want + random())
        const repeated = askedAgain(view, Math.min(want, part(again)), random)
        const left = want - repeated.length
        context.metric('again', repeated.length)
        if (candidates && candidates.length > 0) {
          turn += left
          const order = ranked(candidates.length, weights, 'draw', random)
          const rest = Array.from({ length: left }, (_, i) => candidates[order[i % order.length]!]!)
          return [...repeated, ...rest.map((at) => ({ prompt: at, rollouts }))]
        }
        const shared = swarm ? Math.min(left, part(common)) : 0
        const rest = Array.from({ length: left }, (_, i) => {
          const task = tasks[turn++ % tasks.length]!
          if (swarm && i < shared) return { prompt: nextCommon(swarm, task), rollouts }
          return { prompt: promptOf(task, Math.floor(random() * HELD_OUT_SEED)), rollouts }
        })
        return [...repeated, ...rest]
      },

      observe(groups: readonly Group[]) {
        for (const { arm, prompt: at, rollouts } of groups) {
          // Results with a hint or a skill say nothing about the plain prompt.
          if (arm !== 'base') continue
          const key = promptKey(at)
          const own = rollouts.filter(({ author }) => author === undefined)
          const right = own.filter(({ taskReward, reward }) => (taskReward ?? reward) > 0.5).length
          const level = `${at.task}@${at.taskVersion}/${at.difficulty}`
          const [before, all] = levels.get(level) ?? [0, 0]
          levels.set(level, [FADE * before + right, FADE * all + own.length])
          const [into, from] = right > 0 || solved.has(key) ? [solved, failed] : [failed, solved]
          from.delete(key)
          into.delete(key)
          into.add(key)
          if (into.size > MOST) into.delete(into.values().next().value!)
          if (right > 0) wanted.delete(key)
        }
      },
    }
  },
})

function promptOf({ name, version, difficulty }: TaskView, seed: number): PromptCoordinates {
  return { task: name, taskVersion: version, seed, difficulty }
}

const levelOf = ({ name, version, difficulty }: TaskView): string => `${name}@${version}/${difficulty}`

function lengthOf({ questions }: TaskView, size: number): number {
  return Math.max(1, Math.min(size, questions ?? size))
}

/** The swarm's prompt at this place of the set. */
function commonPrompt(swarm: string, task: TaskView, place: number): PromptCoordinates {
  const { questions } = task
  const level = `${swarm}/${levelOf(task)}`
  const seed =
    questions === undefined
      ? hash(`${level}/${place}`) % HELD_OUT_SEED
      : (hash(level) + place) % Math.max(1, questions)
  return promptOf(task, seed)
}

function hash(text: string): number {
  return createHash('sha256').update(text).digest().readUInt32BE(0)
}
