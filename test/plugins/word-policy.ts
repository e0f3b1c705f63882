// The smallest policy with prefixes: it writes words of three letters, each from a softmax of its own for everything
// written before, so that policy gradients can be computed exactly and compared with what plugins make of its rollouts.
// Rounds, plugin host, rows and objective are the daemon's.

import { randomStream } from '../../daemon/host/random.ts'
import { rowsByAuthor } from '../../daemon/trainer/rows.ts'
import { TASKS } from '../../plugins/tasks/index.ts'
import { expression, type Task } from '../../protocol/plugin/index.ts'
import { hasSignal } from '../../protocol/train/index.ts'
import { LINEAGE, type Playing, type PlayOptions, play } from '../rollout/play.ts'
import { compile } from '../sim/compiled.ts'

const LETTERS = ['a', 'b', 'c']
const LENGTH = 3
/** Names a place in the gradient: a prefix, and the letter after it. */
type Gradient = Map<string, number>

const prefixes = ['', ...LETTERS, ...LETTERS.flatMap((a) => LETTERS.map((b) => a + b))]
const words = prefixes
  .filter(({ length }) => length === LENGTH - 1)
  .flatMap((start) => LETTERS.map((end) => start + end))

export type WordPolicy = ReturnType<typeof createWordPolicy>

/** Logits come from the seed. The larger their scale, the surer it is. */
export function createWordPolicy({
  seed,
  scale,
  right,
}: {
  seed: number
  scale: number
  /** Words. */
  right: readonly string[]
}) {
  const random = randomStream(seed, 'logits')
  const probabilities = new Map(
    prefixes.map((prefix) => {
      const raw = LETTERS.map(() => Math.exp(scale * (2 * random() - 1)))
      const sum = raw.reduce((a, b) => a + b, 0)
      return [prefix, raw.map((one) => one / sum)]
    }),
  )
  const chanceOf = (prefix: string, letter: string): number =>
    probabilities.get(prefix)![LETTERS.indexOf(letter)]!
  const chanceOfWord = (word: string): number =>
    [...word].reduce((chance, letter, at) => chance * chanceOf(word.slice(0, at), letter), 1)
  /** The question ends with a colon; what comes after it was written already. */
  const begunIn = (prompt: string): string => prompt.slice(prompt.lastIndexOf(':') + 1)

  /** Adds `slope` times the gradient of a letter's log-prob in the logits. */
  const addSlope = (into: Gradient, prefix: string, letter: string, slope: number): void => {
    for (const other of LETTERS) {
      const key = `${prefix}>${other}`
      const part = (other === letter ? 1 : 0) - chanceOf(prefix, other)
      into.set(key, (into.get(key) ?? 0) + slope * part)
    }
  }
  const task: Task = {
    ...TASKS[0]!,
    name: 'word',
    generate: ({ seed: at }) => ({ question: `word ${at}:`, key: right[0]!, steps: [] }),
    verify: (_, text) => ({ score: right.includes(text) ? 1 : 0, answer: text, found: 'tag' }),
  }

  return {
    /** Chance of a right word. */
    success: right.reduce((sum, word) => sum + chanceOfWord(word), 0),

    likeliest: words.reduce((best, word) => (chanceOfWord(word) > chanceOfWord(best) ? word : best)),

    /** Of the chance of a right word. */
    trueGradient(): Gradient {
      const gradient: Gradient = new Map()
      for (const word of right)
        for (let at = 0; at < LENGTH; at++)
          addSlope(gradient, word.slice(0, at), word[at]!, chanceOfWord(word))
      return gradient
    },

    open: (options: Partial<PlayOptions>): Promise<Playing> =>
      play({
        write(prompt, { seed: at }) {
          const draw = randomStream(at, 'word')
          const begun = begunIn(prompt)
          let word = begun
          while (word.length < LENGTH) {
            const [at, [a, b]] = [draw(), probabilities.get(word)! as [number, number, number]]
            word += at < a ? 'a' : at < a + b ? 'b' : 'c'
          }
          return word.slice(begun.length)
        },
        logprobs(prompt, answer) {
          const begun = begunIn(prompt)
          const of = [...answer].map((letter, i) => Math.log(chanceOf(begun + answer.slice(0, i), letter)))
          return [...of, 0]
        },
        tasks: [task],
        chosen: [{ name: task.name, difficulty: 0 }],
        maxNewTokens: 8,
        ...options,
      }),

    /** The step that one round's batch asks for: the negative gradient of its mean loss; undefined without a batch. */
    async stepOf(playing: Playing): Promise<Gradient | undefined> {
      const { groups: written } = await playing.round()
      const batch = playing.host.batch({ step: 0 })
      const view = { lineage: LINEAGE, tokenizer: 'b'.repeat(64), version: 0, self: 'me' }
      const groups = (await batch.group(written, view)).filter((group) => group.always || hasSignal(group))
      if (groups.length === 0) return undefined
      const advantages = await batch.advantage(groups)
      const columns = await batch.columns(advantages, groups)
      const rows = rowsByAuthor(groups, advantages, {
        ...{ self: 'me', lineage: LINEAGE, version: 0, columns },
        isBelieved: () => true,
      }).own.flat()
      const { loss } = playing.host.objective
      const slopeAt = compile(
        expression.substitute(loss, 'proximal', expression.detach(expression.column('logprob'))),
      )
      const [gradient, out]: [Gradient, Float64Array] = [new Map(), new Float64Array(2)]
      let tokens = 0
      for (const { completion, columns: given } of rows) {
        const word = String.fromCodePoint(...[...completion].slice(0, LENGTH).map((token) => token - 4))
        const filled = Object.fromEntries(
          Object.entries({ mask: 1, ...given }).map(([name, value]) => [
            name,
            typeof value === 'number' ? new Float32Array(completion.length).fill(value) : value,
          ]),
        )
        const logprob = Float64Array.from(
          [...word].map((letter, at) => Math.log(chanceOf(word.slice(0, at), letter))),
        )
        const all = { ...filled, logprob: [...logprob, 0], entropy: [0, 0, 0, 0] }
        for (let at = 0; at < completion.length; at++) {
          if (filled.mask![at] === 0) continue
          tokens += 1
          if (at >= LENGTH) continue
          slopeAt(all, at, out)
          addSlope(gradient, word.slice(0, at), word[at]!, -out[1]!)
        }
      }
      return new Map([...gradient].map(([key, value]) => [key, value / Math.max(1, tokens)]))
    },
  }
}

export function dot(a: Gradient, b: Gradient): number {
  return [...a].reduce((sum, [key, value]) => sum + value * (b.get(key) ?? 0), 0)
}

export const cosine = (a: Gradient, b: Gradient): number => dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b))

export function meanOf(gradients: readonly Gradient[]): Gradient {
  const sum: Gradient = new Map()
  for (const one of gradients)
    for (const [key, value] of one) sum.set(key, (sum.get(key) ?? 0) + value / gradients.length)
  return sum
}
