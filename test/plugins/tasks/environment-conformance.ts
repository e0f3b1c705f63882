// What every environment must hold, as one suite: purity, solvability by the reference solution, episodes that end,
// rewards that sum to the score, hostile answers, replays, and text short enough for the default model.

import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { createTokenizer } from '../../../daemon/policy/tokens/tokenizer.ts'
import { diceFor } from '../../../plugins/tasks/random.ts'
import {
  beginPlay,
  leaksAnswer,
  MAX_TURNS,
  type Play,
  playOn,
  replay,
  type Task,
  TURN_MARK,
  transcriptOf,
} from '../../../protocol/plugin/index.ts'
import { HELD_OUT_SEED, type Instance } from '../../../protocol/train/index.ts'
import { items, levelsOf, linesOf, warmStartItems } from './conformance.ts'
import { HANGS_MS, leastCpuMs } from './cpu-time.ts'
import { HOSTILE } from './hostile.ts'

const json = (name: string) =>
  JSON.parse(readFileSync(fileURLToPath(new URL(`../../../models/default/${name}`, import.meta.url)), 'utf8'))
const tokenizer = createTokenizer({
  tokenizer: json('tokenizer.json'),
  config: json('tokenizer_config.json'),
  generation: json('generation_config.json'),
})
/** Tokens of the default tokenizer that one turn's text may take. */
const MAX_TOKENS = 60

export interface EnvironmentConformance {
  /** Solves an instance from what is shown alone, in as few answers as possible. */
  solve(question: string): string[]
  /** Answers that an episode may consist of. */
  answers: readonly string[]
  /** The share of episodes that answers at random, and one answer again and again, must stay under, by level. */
  luck?: Record<number, number>
}

export function environmentConformance(task: Task, options: EnvironmentConformance): void {
  const environment = task.environment!
  const levels = levelsOf(task)
  const playAll = (instance: Instance, answers: readonly string[]): Play => {
    let play = beginPlay(environment, instance)
    for (const answer of answers) if (!play.done) play = playOn(environment, play, answer)
    return play
  }

  describe(`${task.name} as an environment`, () => {
    it('makes the same items and episodes as ever', async () => {
      const seeds = [0, 1, HELD_OUT_SEED - 1, HELD_OUT_SEED, 0xffff_ffff]
      const golden = levels.flatMap((difficulty) =>
        seeds.map((seed) => {
          const item = task.generate({ seed, difficulty })
          const { turns } = replay(environment, item, item.key)!
          return { seed, difficulty, ...item, turns }
        }),
      )
      await expect(linesOf(golden)).toMatchFileSnapshot(`./fixtures/${task.name}@${task.version}.json`)
    })

    it('can always be solved, in no fewer answers than its reference solution has', () => {
      for (const item of items(task, 100)) {
        expect(task.verify(item, item.key).score).toBe(1)
        const found = options.solve(item.question)
        expect(task.verify(item, found.join(TURN_MARK)).score).toBe(1)
        expect(found.length).toBe(item.key.split(TURN_MARK).length)
      }
    })

    it('gives the same for the same answers, and never changes a state that it gave', () => {
      const dice = diceFor(`${task.name} twice`)
      for (const item of items(task, 40)) {
        const answers = Array.from({ length: 12 }, () => dice.pick(options.answers))
        const frozen = (play: Play): Play => structuredClone(play)
        let play = beginPlay(environment, item)
        for (const answer of answers) {
          if (play.done) break
          const before = frozen(play)
          const next = playOn(environment, play, answer)
          expect(play).toEqual(before)
          expect(playOn(environment, before, answer)).toEqual(next)
          play = next
        }
        expect(replay(environment, structuredClone(item), transcriptOf(play))).toEqual(play)
      }
    })

    it('pays for solving it and for nothing else, and turn by turn what it pays in all', () => {
      const dice = diceFor(`${task.name} paid`)
      for (const item of items(task, 60)) {
        const play = playAll(
          item,
          Array.from({ length: MAX_TURNS }, () => dice.pick(options.answers)),
        )
        expect(play.done).toBe(true)
        expect(play.turns.length).toBeLessThanOrEqual(MAX_TURNS)
        const sum = play.turns.reduce((total, { reward }) => total + reward, 0)
        expect(play.score).toBeCloseTo(sum, 9)
        expect(play.score === 1 || play.score < 0.5).toBe(true)
        expect(task.verify(item, transcriptOf(play)).score).toBe(play.score)
      }
    })

    it('never asks in training what it asks in evaluation, or what models are made with', () => {
      const trained = new Set([...items(task, 200)].map(({ question }) => question))
      const heldOut = new Set([...items(task, 40, HELD_OUT_SEED)].map(({ question }) => question))
      for (const question of heldOut) expect(trained.has(question)).toBe(false)
      for (const { question } of warmStartItems(task, 40))
        expect(trained.has(question) || heldOut.has(question)).toBe(false)
    })

    it('pays next to nothing for answers that need no understanding', () => {
      const dice = diceFor(`${task.name} luck`)
      for (const difficulty of levels) {
        const sample = Array.from({ length: 300 }, (_, seed) => task.generate({ seed, difficulty }))
        const ways: Record<string, () => string[]> = {
          random: () => Array.from({ length: MAX_TURNS }, () => dice.pick(options.answers)),
          nothing: () => new Array(MAX_TURNS).fill(''),
        }
        for (const answer of options.answers) ways[answer] = () => new Array(MAX_TURNS).fill(answer)
        for (const [name, way] of Object.entries(ways)) {
          const solved = sample.filter((item) => playAll(item, way()).score === 1).length / sample.length
          if (solved >= (options.luck?.[difficulty] ?? 0.05))
            throw new Error(`${name} solves ${solved} at level ${difficulty}`)
        }
      }
    })

    it('takes any answer whatever for a turn, in time, and stays as it is where it means nothing', () => {
      for (const difficulty of levels) {
        const item = task.generate({ seed: 9, difficulty })
        const start = beginPlay(environment, item)
        for (const text of HOSTILE) {
          expect(leastCpuMs(() => playOn(environment, start, text))).toBeLessThan(HANGS_MS)
          const next = playOn(environment, start, text)
          expect(next.score).toBe(0)
          expect(environment.key(next.state)).toBe(environment.key(start.state))
          const verdict = task.verify(item, text)
          expect(verdict.score).toBe(0)
          expect(verdict.answer === null || verdict.answer.length <= 256).toBe(true)
        }
      }
    })

    it('refuses a text that goes on after the end, or for ever', () => {
      const item = task.generate({ seed: 3, difficulty: task.difficulty.default })
      const refused = { score: 0, answer: null, found: 'none' }
      expect(task.verify(item, `${item.key}${TURN_MARK}`)).toEqual(refused)
      expect(task.verify(item, TURN_MARK.repeat(60_000))).toEqual(refused)
      expect(task.verify(item, item.key.repeat(3000)).score).toBe(0)
    })

    it('shows little enough for a small model', () => {
      for (const item of items(task, 20)) {
        expect(tokenizer.encodePrompt(item.question).length).toBeLessThanOrEqual(MAX_TOKENS)
        for (const { observation } of replay(environment, item, item.key)!.turns.slice(1))
          expect(tokenizer.encodeReply(`? ${observation}`).length).toBeLessThanOrEqual(MAX_TOKENS)
      }
    })

    it('gives steps that rise to the key, and a hint that names all its answers in order gives it away', () => {
      for (const item of items(task, 40)) {
        const { steps, key } = item
        expect(steps[0]?.level).toBe(1)
        expect(steps.at(-1)).toMatchObject({ level: 5, value: key })
        for (const [i, { level }] of steps.entries())
          if (i > 0) expect(level).toBeGreaterThanOrEqual(steps[i - 1]!.level)
        for (const { level, text } of steps) expect(leaksAnswer(key, text)).toBe(level === 5)
      }
    })

    it('refuses seeds and levels outside its range, and describes each level in words of its own', () => {
      expect(() => task.generate({ seed: -1, difficulty: 0 })).toThrow(RangeError)
      expect(() => task.generate({ seed: 0, difficulty: levels.length })).toThrow(RangeError)
      expect(new Set(levels.map(task.difficulty.describe)).size).toBe(levels.length)
    })
  })
}
