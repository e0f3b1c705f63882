import { describe, expect, it } from 'vitest'
import task from '../../../plugins/tasks/logic/propositional-logic.ts'
import type { Instance } from '../../../protocol/train/index.ts'
import { inTags, items, taskConformance } from './conformance.ts'

const premisesOf = (question: string): string[] => /^Given (.+)\. Which/.exec(question)![1]!.split('; ')

/** Recursive descent over the text, one assignment at a time; the generator has truth tables of trees. */
function holds(premise: string, assigned: Record<string, boolean>): boolean {
  const tokens = premise.match(/<->|->|[&|~()]|[P-W]/g)!
  let at = 0
  const unit = (): boolean => {
    const token = tokens[at++]!
    if (token === '~') return !unit()
    if (token !== '(') return assigned[token]!
    const value = binary()
    at++
    return value
  }
  const binary = (): boolean => {
    const left = unit()
    const op = tokens[at]
    if (op === undefined || op === ')') return left
    at++
    const right = unit()
    if (op === '&') return left && right
    if (op === '|') return left || right
    return op === '->' ? !left || right : left === right
  }
  return binary()
}

/** Assignments to the letters from P up to the last one named, in which all of the premises hold. */
function models(premises: string[]): Array<Record<string, boolean>> {
  const letters = [...new Set(premises.join('').match(/[P-W]/g))].sort()
  const found: Array<Record<string, boolean>> = []
  for (let row = 0; row < 1 << letters.length; row++) {
    const assigned = Object.fromEntries(letters.map((letter, i) => [letter, ((row >> i) & 1) === 1]))
    if (premises.every((premise) => holds(premise, assigned))) found.push(assigned)
  }
  return found
}

function settled(premises: string[]): string[] {
  const [first, ...rest] = models(premises)
  return Object.entries(first ?? {})
    .filter(([letter, value]) => rest.every((model) => model[letter] === value))
    .map(([letter, value]) => (value ? letter : `~${letter}`))
}

taskConformance(task, {
  solve: (question) => settled(premisesOf(question)).join(', '),
  baselines: {
    'the question': (question) => question,
    'the first premise': (question) => premisesOf(question)[0]!,
    'the premises joined': (question) => premisesOf(question).slice(0, 2).join(' & '),
    'the single letters': (question) =>
      premisesOf(question)
        .filter((premise) => /^~?\w$/.test(premise))
        .join(', '),
    'every letter': (question) => [...new Set(premisesOf(question).join().match(/[P-W]/g))].sort().join(', '),
  },
  equations: 0,
  costly: [4, 5],
})

const keyed = (key: string): Instance => ({ question: '', key, steps: [] })

describe('propositional_logic', () => {
  it.each([
    ['P, ~Q', 'P, ~Q'],
    ['P, ~Q', '~Q P'],
    ['P, ~Q', 'P \u2227 \u00acQ'],
    ['P, ~Q', 'P and not Q'],
    ['P, ~Q', 'P & !Q'],
    ['P, ~Q', '$P, ~Q$.'],
    ['Q', 'Q'],
  ])('takes for %s %s', (key, answer) => {
    expect(task.verify(keyed(key), inTags(answer)).score).toBe(1)
  })

  it.each([
    ['P, ~Q', 'P'],
    ['P, ~Q', 'P, Q'],
    ['P, ~Q', 'P, ~Q, R'],
    ['P, ~Q', 'P | ~Q'],
    ['P, ~Q', 'P, ~~~Q'],
    ['P, ~Q', 'P, Q, ~Q'],
    ['Q', 'P -> Q'],
    ['Q', 'q'],
    ['Q', 'Q ~'],
    ['Q', '~'],
    ['Q', 'hello'],
    ['Q', ''],
  ])('does not take for %s %s', (key, answer) => {
    expect(task.verify(keyed(key), inTags(answer)).score).toBe(0)
  })

  it('needs more than one premise, every one of them, and premises that agree', () => {
    for (const { question, key } of items(task, 60)) {
      const premises = premisesOf(question)
      expect(models(premises).length).toBeGreaterThan(0)
      const alone = new Set(premises.flatMap((premise) => settled([premise])))
      expect(key.split(', ').every((literal) => alone.has(literal))).toBe(false)
    }
  })
})
