// A picker for swarms: part of the prompts come from a set that all nodes share, and prompts that a peer solved but
// this node did not are asked again.
//
// Of a round's prompts, the share `again` are questions that a peer answered correctly and this node never did. The
// share `common` comes from a set derived from the swarm's name, so that nodes work on the same prompts. The rest are
// new, as with `uniform`. Each node walks through the set from its own starting point, so that at any time nodes are
// at different prompts and learn from peers about prompts ahead of them. For a dataset, the set is rows by number.
//
// Peers influence which prompts are asked again, so this is limited: a prompt must be in the common set or have been
// asked by this node before, must be at the node's own level, and is repeated at most `tries` times. A prompt that the
// node has not tried counts as too hard only if its level is, that is, if one of the node's own groups is more likely
// than not to be all wrong.

import { createHash } from 'node:crypto'
import { z } from 'zod'
import {
  definePlugin,
  type PromptRequest,
  type Random,
  type SelectView,
} from '../../protocol/plugin/index.ts'
import { type Group, HELD_OUT_SEED, type PromptCoordinates, promptKey } from '../../protocol/train/index.ts'
import { readState, writeState } from '../state.ts'
import { ranked } from './uniform.ts'

const settings = z
  .strictObject({
    /** Share of prompts from the swarm's set. */
    common: z.number().min(0).max(1).default(0.5),
    /** Largest share of prompts that are asked again. */
    again: z.number().min(0).max(1).default(0.25),
    /** Prompts in the set, per task and level. */
    size: z.int().positive().max(65_536).default(512),
    /** Maximum number of times that a prompt is asked again. */
    tries: z.int().positive().default(2),
  })
  .refine(({ common, again }) => common + again <= 1, {
    message: 'common and again must not exceed 1 together',
  })

/** Maximum number of prompts remembered in each collection; the oldest are forgotten. */
const MAX = 8192
/** Decay of a level's counts per group. */
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
  failed: z.array(z.string()).max(MAX),
  solved: z.array(z.string()).max(MAX),
  wanted: z.array(z.tuple([z.string(), prompt, z.int().nonnegative()])).max(MAX),
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
    const memory = createMemory()
    const { walked, failed, solved, wanted, levels } = memory
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
    /** True if a group of a new prompt at this level is more likely than not to be all wrong. */
    const isHard = (level: string, rollouts: number): boolean => {
      const [right, all] = levels.get(level) ?? [0, 0]
      return all > 0 && (1 - right / all) ** rollouts > 0.5
    }

    /** Picks prompts to ask again, in random order. */
    const askedAgain = (view: SelectView, most: number, random: Random): PromptRequest[] => {
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
      save: memory.save,
      load: memory.load,

      receive(groups) {
        for (const { arm, prompt: at, rollouts } of groups) {
          const key = promptKey(at)
          if (arm !== 'base' || solved.has(key) || wanted.has(key)) continue
          if (!rollouts.some(({ reward }) => reward > 0.5)) continue
          wanted.set(key, { prompt: at, asked: 0 })
          if (wanted.size > MAX) wanted.delete(wanted.keys().next().value!)
        }
      },

      select(view, want, context): PromptRequest[] {
        const { tasks, rollouts, candidates, weights, swarm } = view
        if (tasks.length === 0) return []
        const random = context.random(`prompts/${context.step}/${memory.turn}`)
        /** Stochastic rounding: an integer whose expectation is the share of `want`. */
        const part = (share: number): number => Math.floor(share * want + random())
        const repeated = askedAgain(view, Math.min(want, part(again)), random)
        const left = want - repeated.length
        context.metric('again', repeated.length)
        if (candidates && candidates.length > 0) {
          memory.turn += left
          const order = ranked(candidates.length, weights, 'draw', random)
          const rest = Array.from({ length: left }, (_, i) => candidates[order[i % order.length]!]!)
          return [...repeated, ...rest.map((at) => ({ prompt: at, rollouts }))]
        }
        const shared = swarm ? Math.min(left, part(common)) : 0
        const rest = Array.from({ length: left }, (_, i) => {
          const task = tasks[memory.turn++ % tasks.length]!
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
          if (into.size > MAX) into.delete(into.values().next().value!)
          if (right > 0) wanted.delete(key)
        }
      },
    }
  },
})

/** What the picker knows of the prompts, and how it is saved. */
function createMemory() {
  const memory = {
    turn: 0,
    /** By task and level: the number of prompts of the set that were asked. */
    walked: new Map<string, number>(),
    /** Keys of prompts that this node answered: `failed` never correctly, `solved` correctly at least once. */
    failed: new Set<string>(),
    solved: new Set<string>(),
    /** Prompts that peers solved, with the number of times that they were asked again. */
    wanted: new Map<string, { prompt: PromptCoordinates; asked: number }>(),
    /** By task and level: decayed numbers of right answers and of all answers. */
    levels: new Map<string, [number, number]>(),
    save(): Uint8Array {
      const { turn, walked, failed, solved, wanted, levels } = memory
      return writeState({
        turn,
        walked: [...walked],
        failed: [...failed],
        solved: [...solved],
        wanted: [...wanted].map(([key, entry]) => [key, entry.prompt, entry.asked]),
        levels: [...levels].map(([level, counts]) => [level, ...counts]),
      })
    },
    load(state: Uint8Array): void {
      const { walked, failed, solved, wanted, levels } = memory
      const saved = readState(savedSchema, state)
      for (const kept of [walked, failed, solved, wanted, levels]) kept.clear()
      memory.turn = saved.turn
      for (const [level, steps] of saved.walked) walked.set(level, steps)
      for (const key of saved.failed) failed.add(key)
      for (const key of saved.solved) solved.add(key)
      for (const [key, at, asked] of saved.wanted) wanted.set(key, { prompt: at, asked })
      for (const [level, right, all] of saved.levels) levels.set(level, [right, all])
    },
  }
  return memory
}

function promptOf({ name, version, difficulty }: TaskView, seed: number): PromptCoordinates {
  return { task: name, taskVersion: version, seed, difficulty }
}

const levelOf = ({ name, version, difficulty }: TaskView): string => `${name}@${version}/${difficulty}`

function lengthOf({ questions }: TaskView, size: number): number {
  return Math.max(1, Math.min(size, questions ?? size))
}

/** The swarm's prompt at this position of the set. */
function commonPrompt(swarm: string, task: TaskView, index: number): PromptCoordinates {
  const { questions } = task
  const level = `${swarm}/${levelOf(task)}`
  const seed =
    questions === undefined
      ? hash(`${level}/${index}`) % HELD_OUT_SEED
      : (hash(level) + index) % Math.max(1, questions)
  return promptOf(task, seed)
}

function hash(text: string): number {
  return createHash('sha256').update(text).digest().readUInt32BE(0)
}
