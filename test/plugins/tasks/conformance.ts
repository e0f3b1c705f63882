// What every task must hold, as one suite: golden items, purity, an independent solver, levelled steps, parted
// question spaces, trivial baselines and a total verifier.

import { describe, expect, it } from 'vitest'
import { diceFor } from '../../../plugins/tasks/random.ts'
import { showsToken } from '../../../plugins/tasks/steps.ts'
import type { Task } from '../../../protocol/plugin/index.ts'
import { HELD_OUT_SEED, type Instance } from '../../../protocol/train/index.ts'
import { HANGS_MS, leastCpuMs } from './cpu-time.ts'
import { checkEquations } from './expressions.ts'
import { HOSTILE } from './hostile.ts'

export interface Conformance {
  /** Works the answer out from the question's text alone, by another way than the generator. */
  solve(question: string): string
  /** Answers that need no understanding, from the question alone. */
  baselines: Record<string, (question: string) => string>
  /** The share that a baseline or the commonest key must stay under, by level; 0.05 where it is not given. */
  luck?: Record<number, number>
  /** Fewest equations in the steps of an item, 0 if the working is not in equations. */
  equations?: number
  /** Levels whose items take long to make: they get a tenth of what the others get. */
  costly?: number[]
}

export const inTags = (answer: string): string => `<answer>${answer}</answer>`

export function levelsOf(task: Task): number[] {
  return Array.from(
    { length: task.difficulty.max - task.difficulty.min + 1 },
    (_, i) => task.difficulty.min + i,
  )
}

export function* items(task: Task, perLevel: number, from = 0, costly: number[] = []): Generator<Instance> {
  for (const difficulty of levelsOf(task)) {
    const count = costly.includes(difficulty) ? perLevel / 10 : perLevel
    for (let i = 0; i < count; i++) yield task.generate({ seed: from + i, difficulty })
  }
}

export function* warmStartItems(task: Task, perLevel: number, costly: number[] = []): Generator<Instance> {
  for (const difficulty of levelsOf(task)) {
    const count = costly.includes(difficulty) ? perLevel / 10 : perLevel
    for (let seed = 0; seed < count; seed++) yield task.generate({ seed, difficulty, warmStart: true })
  }
}

/** JSON with one item a line. */
export const linesOf = (items: readonly unknown[]): string =>
  `[\n${items.map((item) => JSON.stringify(item)).join(',\n')}\n]\n`

export function taskConformance(task: Task, options: Conformance): void {
  const levels = levelsOf(task)
  const costly = options.costly ?? []
  /** Items over all levels, as many in total as asked for. */
  const some = (total: number, from = 0): Generator<Instance> =>
    items(task, Math.ceil(total / (levels.length - 0.9 * costly.length)), from, costly)

  describe(`${task.name} as a task`, () => {
    it('makes the same items as ever', async () => {
      const seeds = [0, 1, 2, HELD_OUT_SEED - 1, HELD_OUT_SEED, 0xffff_ffff]
      const golden = levels.flatMap((difficulty) =>
        seeds.map((seed) => ({ seed, difficulty, ...task.generate({ seed, difficulty }) })),
      )
      const file = `./fixtures/${task.name}@${task.version}.json`
      await expect(linesOf(golden)).toMatchFileSnapshot(file)
    })

    it('makes an item that depends on seed and level alone', () => {
      const { generate } = task
      for (const difficulty of levels)
        expect(generate({ seed: 77, difficulty })).toEqual(task.generate({ seed: 77, difficulty }))
    })

    it('refuses seeds and levels outside its range', () => {
      const bad = [-1, 0.5, 2 ** 32, Number.NaN]
      for (const seed of bad) expect(() => task.generate({ seed, difficulty: 0 })).toThrow(RangeError)
      for (const difficulty of [task.difficulty.min - 1, task.difficulty.max + 1, 0.5, Number.NaN])
        expect(() => task.generate({ seed: 0, difficulty })).toThrow(RangeError)
    })

    it('describes each level in words of its own', () => {
      const words = levels.map((level) => task.difficulty.describe(level))
      expect(new Set(words).size).toBe(levels.length)
    })

    it('agrees with an independent solver, and takes both its answer and the key', () => {
      for (const item of some(4_000)) {
        const solved = options.solve(item.question)
        if (task.verify(item, inTags(solved)).score !== 1) expect(`${item.question} ${solved}`).toBe(item.key)
        if (task.verify(item, `so\n${inTags(item.key)}\n`).score !== 1)
          expect(item.question).toBe('accepted with its key')
      }
    })

    it('gives steps that rise to the key, hold as equations and keep it back below level 4', () => {
      for (const item of some(1500, 500)) {
        const { steps, key, question } = item
        expect(steps[0]?.level).toBe(1)
        expect(steps.at(-1)).toMatchObject({ level: 5, value: key })
        const open = showsToken(question, key)
        expect(item.data).toMatchObject({ keyInQuestion: open })
        let equations = 0
        for (const [i, step] of steps.entries()) {
          for (const line of step.text.split('\n')) equations += checkEquations(line)
          if (i > 0 && step.level < steps[i - 1]!.level) expect(question).toBe('in rising order')
          if (step.level <= 3 && !step.aside && !open && showsToken(step.text, key))
            expect(step.text).toBe(`without ${key}`)
        }
        if (equations < (options.equations ?? 1)) expect(question).toBe('worked in equations')
      }
    })

    it('never asks in training what it asks in evaluation, or what models are made with', () => {
      const trained = new Set([...some(1500)].map((item) => item.question))
      const heldOut = new Set([...some(500, HELD_OUT_SEED)].map((item) => item.question))
      for (const question of heldOut) if (trained.has(question)) expect(question).toBe('new')
      for (const { question } of warmStartItems(task, 50, costly))
        if (trained.has(question) || heldOut.has(question)) expect(question).toBe('of the warm start alone')
    })

    it('pays next to nothing for answers that need no understanding', () => {
      for (const difficulty of levels) {
        const size = costly.includes(difficulty) ? 100 : 400
        const sample = Array.from({ length: size }, (_, seed) => task.generate({ seed, difficulty }))
        const counts = new Map<string, number>()
        for (const { key } of sample) counts.set(key, (counts.get(key) ?? 0) + 1)
        const commonest = [...counts].sort((a, b) => b[1] - a[1])[0]![0]
        const fresh = Array.from({ length: size }, (_, i) => task.generate({ seed: 1000 + i, difficulty }))
        const answers: Conformance['baselines'] = { ...options.baselines, commonest: () => commonest }
        for (const [name, answer] of Object.entries(answers)) {
          const paid = fresh.map((item) => task.verify(item, inTags(answer(item.question))).score)
          const mean = paid.reduce((sum, score) => sum + score, 0) / paid.length
          if (mean >= (options.luck?.[difficulty] ?? 0.05))
            throw new Error(`${name} at level ${difficulty} pays ${mean}`)
        }
      }
    })

    it('wants the answer in its tags, and says where it found one', () => {
      const item = task.generate({ seed: 5, difficulty: task.difficulty.default })
      expect(task.verify(item, inTags(item.key))).toMatchObject({ score: 1, found: 'tag' })
      expect(task.verify(item, `thinking\n${item.key}\n`)).toMatchObject({ score: 0, found: 'last-line' })
      expect(task.verify(item, '')).toEqual({ score: 0, answer: null, found: 'none' })
      expect(task.verify(item, `${inTags(item.key)} then ${inTags('something else')}`).score).toBe(0)
    })

    it('gives any completion whatever a verdict, in time', () => {
      for (const difficulty of levels) {
        const item = task.generate({ seed: 9, difficulty })
        for (const text of HOSTILE) {
          const verdict = task.verify(item, text)
          if (verdict.score !== 0) expect(text.slice(0, 40)).toBe('scored 0')
          expect(verdict.answer === null || verdict.answer.length <= 256).toBe(true)
          const spent = leastCpuMs(() => task.verify(item, text))
          if (spent >= HANGS_MS) expect(text.slice(0, 40)).toBe(`judged within ${HANGS_MS} ms`)
        }
      }
    })

    it('stays total on random text around and inside the tags', () => {
      const item = task.generate({ seed: 11, difficulty: task.difficulty.max })
      const parts = [
        '<answer>',
        '</answer>',
        '-',
        '/',
        '.',
        ',',
        '{',
        '}',
        '\\frac',
        '$',
        ' ',
        '1',
        '0',
        'P',
        '~',
        '\n',
      ]
      const dice = diceFor(task.name)
      for (let i = 0; i < 2000; i++) {
        const unit = (): string =>
          dice.oneIn(3) ? String.fromCharCode(dice.below(0x10000)) : dice.pick(parts)
        const inside = Array.from({ length: dice.below(20) }, unit).join('')
        for (const completion of [inside, inTags(inside)]) {
          const { score } = task.verify(item, completion)
          if (score !== 0 && score !== 1) throw new Error(`score ${score} for ${JSON.stringify(completion)}`)
        }
      }
    })
  })
}
