// The verifiers that a dataset can name: cases worked by hand, cheap tricks, and noise.

import { performance } from 'node:perf_hooks'
import { describe, expect, it } from 'vitest'
import { readJudge } from '../../../plugins/tasks/dataset/index.ts'
import { diceFor } from '../../../plugins/tasks/random.ts'
import { type Answer, Fault, VERIFIERS } from '../../../plugins/tasks/verifiers/index.ts'
import { HOSTILE } from './hostile.ts'

interface Case {
  verifier: string | Record<string, unknown>
  answer: Answer
  right: string[]
  wrong: string[]
}

const options = ['Paris', 'Lyon', 'New  York']
const CASES: readonly Case[] = [
  {
    verifier: 'exact',
    answer: 'New York',
    right: ['New York', ' New \n York '],
    wrong: ['new york', 'NewYork', 'New York.', '', 'New York or Paris'],
  },
  {
    verifier: { use: 'exact', ignore_case: true },
    answer: ['Straße', 'road'],
    right: ['STRASSE', 'Road', 'straße'],
    wrong: ['Straße, road', 'Straße road', 'roads'],
  },
  {
    verifier: 'json',
    answer: '{"name": "Ada", "years": [1815, 1.50], "known": true, "id": 9007199254740993}',
    right: [
      '{"id":9007199254740993,"known":true,"years":[1815,1.5],"name":" Ada"}',
      '```json\n{"name": "Ada", "years": [1815, 1.5e0], "known": true, "id": 9007199254740993}\n```',
    ],
    wrong: [
      '{"name": "ada", "years": [1815, 1.5], "known": true, "id": 9007199254740993}',
      '{"name": "Ada", "years": [1.5, 1815], "known": true, "id": 9007199254740993}',
      '{"name": "Ada", "years": [1815, 1.5], "known": true, "id": 9007199254740992}',
      '{"name": "Ada", "years": [1815, 1.5], "known": "true", "id": 9007199254740993}',
      '{"name": "Ada", "years": {"0": 1815, "1": 1.5}, "known": true, "id": 9007199254740993}',
      '{"name": "Ada", "years": [1815, 1.5], "known": true, "id": 9007199254740993, "__proto__": 1}',
      '{"name": "Ada", "years": [1815, 1.5], "known": true}',
      '{"name": "Ada"',
      'Ada',
      '',
    ],
  },
  { verifier: { use: 'json', ignore_case: true }, answer: '["A"]', right: ['["a"]'], wrong: ['[]', '"a"'] },
  { verifier: 'exact', answer: 'caf\u00e9', right: ['cafe\u0301'], wrong: ['cafe'] },
  {
    verifier: 'numeric',
    answer: 12,
    right: ['12', '12.0', '+12', '$12$', '**12**', '12.', '1.2e1', '\\boxed{12}'],
    wrong: [
      '12 apples',
      '12, 13',
      '11 12',
      '0xc',
      '１２x',
      '12/1',
      '6+6',
      '12%',
      '',
      '-12',
      '12.0000001',
      'NaN',
      'Infinity',
    ],
  },
  {
    verifier: 'numeric',
    answer: '-1234567890123456789012',
    right: ['-1,234,567,890,123,456,789,012', '\u22121234567890123456789012'],
    wrong: ['-1234567890123456789013', '-12,34,567'],
  },
  {
    verifier: { use: 'numeric', tolerance: 0.1 },
    answer: 0.3,
    right: ['0.2', '0.4', '.3', '4e-1'],
    wrong: ['0.19999999999999999999', '0.40000000000000000001', '0.3 0.4'],
  },
  {
    verifier: { use: 'numeric', relative_tolerance: 0.01 },
    answer: -200,
    right: ['-198', '-202'],
    wrong: ['-197.9', '-202.1', '198'],
  },
  { verifier: { use: 'numeric', relative_tolerance: 0.5 }, answer: 0, right: ['0', '-0'], wrong: ['1e-300'] },
  {
    verifier: 'choice',
    answer: 'b',
    right: ['B', 'b', '(B)', 'B.', 'B)', '**B**', '\\boxed{B}'],
    wrong: ['A', 'A B', 'AB', 'A or B', 'B, C', 'A, B, C, D', '', 'the answer is B'],
  },
  {
    verifier: { use: 'choice', choices: options },
    answer: 'Lyon',
    right: ['B', 'lyon', 'B) Lyon', '(b) LYON'],
    wrong: ['D', 'A) Lyon', 'B) Paris', 'Paris Lyon', 'A B C', 'Paris, Lyon, New York', 'B Lyon Paris'],
  },
  {
    verifier: { use: 'choice', choices: options },
    answer: 'C',
    right: ['new york', 'C: New York'],
    wrong: ['B'],
  },
  {
    verifier: 'set',
    answer: ['red', 'green', 'blue'],
    right: ['red, green, blue', 'blue,red , green', '{green, blue, red}', '[red,green,blue]'],
    wrong: [
      'red, green',
      'red, green, blue, blue',
      'red, green, blue, pink',
      'red green blue',
      'Red, green, blue',
      '',
    ],
  },
  {
    verifier: { use: 'set', separator: ';', ignore_case: true },
    answer: 'A; B,C',
    right: ['b,c;a'],
    wrong: ['a;b;c'],
  },
  {
    verifier: { use: 'set', separator: ' ' },
    answer: [3, 1, 2],
    right: ['1 2 3', '2\n1  3'],
    wrong: ['1 2', '1 2 3 4', '1,2,3'],
  },
  { verifier: 'set', answer: [], right: ['', '{}', '\u2205', '[ ]'], wrong: ['0', 'none'] },
  {
    verifier: 'regex',
    answer: '(a|b)*c{2,3}',
    right: ['cc', 'ababccc'],
    wrong: ['c', 'cccc', 'xcc', 'ccx', 'c c', ''],
  },
  {
    verifier: 'regex',
    answer: '\\d{4}-[01]\\d-[0-3]\\d',
    right: ['2024-02-29'],
    wrong: ['2024-2-29', '2024-02-299', '٢٠٢٤-02-29'],
  },
  {
    verifier: { use: 'regex', ignore_case: true },
    answer: '[^a-c]x+\\.?',
    right: ['dX', 'Dxx.'],
    wrong: ['Ax', 'ax', 'd.'],
  },
  {
    verifier: 'regex',
    answer: '(?:ab|a)(?:bc|c)?',
    right: ['ab', 'abc', 'abbc', 'ac', 'a'],
    wrong: ['abb', 'bc'],
  },
  {
    verifier: 'regex',
    answer: '.\\(\u{1f41d}[\\w\\-]',
    right: ['x(\u{1f41d}-', '\u{1f600}(\u{1f41d}_'],
    wrong: ['\n(\u{1f41d}a', '(\u{1f41d}a'],
  },
  {
    verifier: 'fraction',
    answer: '3/4',
    right: ['3/4', '6/8', '0.75', '\\frac{3}{4}', '-3/-4', '$\\dfrac{9}{12}$', '\u00be'],
    wrong: ['4/3', '-3/4', '3/4/1', '3/0', '0.7500001', '3 4', '1/2+1/4', '3/4, 6/8', '3/', ''],
  },
  // NFKC would join the digits: 5\u00bd as 51/2, \u00bd3 as 1/23.
  {
    verifier: 'fraction',
    answer: '51/2',
    right: ['51/2', '25.5', '\\frac{51}2', '\\[\\frac{51}{2}\\]'],
    wrong: ['5\u00bd', '\uff15\u00bd', '5 \u00bd', '**5\u00bd**'],
  },
  {
    verifier: 'fraction',
    answer: '31/4',
    right: ['31/4', '7.75'],
    wrong: ['3\u00bc'],
  },
  {
    verifier: 'fraction',
    answer: '1/23',
    right: ['1\u204423'],
    wrong: ['\u00bd3', '\u00bd\uff13'],
  },
  {
    verifier: { use: 'fraction', lowest_terms: true },
    answer: '-2/1',
    right: ['-2', '-2/1', '-\\frac{2}{1}'],
    wrong: ['-4/2', '2/-1', '-2.0'],
  },
  {
    verifier: 'expression',
    answer: '2*x + 2',
    right: [
      '2(x+1)',
      '2x+2',
      'x+x+2',
      '(4x+4)/2',
      '2 + 2*x',
      '(x+1)*2',
      '$2x+2$',
      '(x+1)^2 - x^2 + 1',
      '4*x/2+2',
      '2x^1+2x^0',
    ],
    wrong: [
      '2x',
      '2x+3',
      'x',
      '2y+2',
      '2x+2=0',
      '2x+2, 2x',
      '2xx',
      '(2x+2',
      '2x+2)',
      '1e2',
      'x2',
      '1/0',
      '2x+2;',
      'eval(2)',
      '',
    ],
  },
  {
    verifier: { use: 'expression', variable: 'n', max_chars: 9 },
    answer: 'n*(n+1)/2',
    right: ['n(n+1)/2', '.5n*n+n/2'],
    wrong: ['(n+n*n+0)/2', '1/2n(n+1)'],
  },
  {
    verifier: 'expression',
    answer: '1/x',
    right: ['x^-1', 'x/x^2', '1/x'],
    wrong: ['x', '0^0', '1/(x-x)', '1/2x'],
  },
  {
    verifier: 'expression',
    answer: '512',
    right: ['2^3^2', '2^9', '-(-512)'],
    wrong: ['(2^3)^2', '2^65', '-512'],
  },
]

const nameOf = ({ verifier }: Case): string => JSON.stringify(verifier)
const accepts = ({ verifier, answer }: Pick<Case, 'verifier' | 'answer'>, text: string): boolean => {
  const judge = readJudge(verifier)
  judge.verifier.key(answer, judge.settings)
  return judge.verifier.accepts(text.trim(), answer, judge.settings)
}

describe.each(CASES.map((one) => [nameOf(one), JSON.stringify(one.answer), one] as const))(
  '%s for %s',
  (_, __, one) => {
    it.each(one.right.map((text) => [text]))('takes %j', (text) => expect(accepts(one, text)).toBe(true))
    it.each(one.wrong.map((text) => [text]))('refuses %j', (text) => expect(accepts(one, text)).toBe(false))
  },
)

it('takes a set in every order, and no set with one item changed', () => {
  const one = { verifier: 'set', answer: ['a', 'b', 'c', 'd', 'e'] }
  const dice = diceFor('sets')
  for (let i = 0; i < 200; i++) {
    const items = dice.shuffle(one.answer)
    expect(accepts(one, items.join(', '))).toBe(true)
    expect(accepts(one, items.with(dice.below(5), 'f').join(', '))).toBe(false)
    expect(accepts(one, items.with(0, items[1]!).join(', '))).toBe(false)
  }
})

it('agrees with JavaScript on patterns that both have', () => {
  const dice = diceFor('patterns')
  const piece = (depth: number): string => {
    const kind = dice.below(depth > 2 ? 3 : 6)
    if (kind < 2) return dice.pick(['a', 'b', '.', '[ab]', '[^a]', '\\d', '1'])
    if (kind === 2) return 'a'
    const inner = `(?:${piece(depth + 1)}${dice.pick(['', '|'])}${piece(depth + 1)})`
    return inner + dice.pick(['', '*', '+', '?', '{2}', '{1,3}', '{0,2}', '{1,}'])
  }
  let matched = 0
  for (let i = 0; i < 2000; i++) {
    const pattern = `b${piece(0)}${piece(0)}`
    const text = Array.from({ length: dice.below(8) }, () => dice.pick(['a', 'b', '1'])).join('')
    const there = new RegExp(`^(?:${pattern})$`, 'u').test(`b${text}`)
    if (there) matched++
    expect([pattern, text, accepts({ verifier: 'regex', answer: pattern }, `b${text}`)]).toEqual([
      pattern,
      text,
      there,
    ])
  }
  expect(matched).toBeGreaterThan(100)
})

it.each([
  '\\d',
  '\\D',
  '\\w',
  '\\W',
  '\\s',
  '\\S',
  '\\n',
  '\\t',
  '\\r',
  '[\\s\\d]',
  '[^\\w]',
  '[a-f]',
  '[^0-8]',
])('agrees with JavaScript on which characters %s takes', (one) => {
  for (let point = 0; point < 256; point++) {
    const char = String.fromCharCode(point)
    const there = new RegExp(`^b${one}b$`, 'u').test(`b${char}b`)
    expect([point, accepts({ verifier: 'regex', answer: `b${one}b` }, `b${char}b`)]).toEqual([point, there])
  }
})

describe('what a person wrote wrongly is said', () => {
  const wrong: ReadonlyArray<readonly [unknown, Answer, RegExp]> = [
    ['numerc', 1, /no verifier "numerc".* "numeric"/],
    [{ use: 'numeric', tolerence: 1 }, 1, /no setting "tolerence".* "tolerance"/],
    [{ use: 'numeric', tolerance: -1 }, 1, /from 0 up/],
    [{ use: 'numeric', relative_tolerance: 1 }, 1, /below 1/],
    ['numeric', 'twelve', /must be a number/],
    ['numeric', [1, 2], /not a list/],
    ['exact', '', /is empty/],
    ['exact', [], /empty list/],
    ['choice', 'Paris', /must be a letter/],
    [{ use: 'choice', choices: ['a', 'b'] }, 'A', /reads like a letter/],
    [{ use: 'choice', choices: ['one'] }, 'A', /2 to 26/],
    [{ use: 'choice', choices: ['one', 'ONE'] }, 'A', /the same/],
    [{ use: 'choice', choices: ['one', 'two'] }, 'C', /A to B/],
    ['set', ['a', 'a'], /twice/],
    ['set', ['a,b'], /separator/],
    ['json', '{a: 1}', /must be JSON/],
    ['regex', '(a', /"\)" is missing/],
    ['regex', 'a)', /closes nothing/],
    ['regex', 'a**', /two repetitions/],
    ['regex', '(a)\\1', /back references/],
    ['regex', '(?=a)', /look-around/],
    ['regex', '^a$', /leave "\^" out/],
    ['regex', '[b-a]', /range/],
    ['regex', 'a{3,2}', /lower one first/],
    ['regex', '.*', /empty answer/],
    ['regex', '(a{200}){200}', /states/],
    ['regex', 'a((((){256}){256}){256}){256}', /repeats too much/],
    ['fraction', '1/0', /must be a fraction/],
    [{ use: 'fraction', lowest_terms: true }, '2/4', /lowest terms/],
    ['expression', '2*y', /expression in x/],
    ['expression', 'x^64*x', /expression in x/],
    [{ use: 'expression', variable: 'xy' }, 'x', /one letter/],
  ]
  it.each(wrong)('%j for %j', (verifier, answer, message) => {
    const read = () => {
      const judge = readJudge(verifier)
      judge.verifier.key(answer, judge.settings)
    }
    expect(read).toThrow(Fault)
    expect(read).toThrow(message)
  })
})

describe('noise', () => {
  const slow: Record<string, { answer: Answer; text: string }> = {
    regex: { answer: '(a|a)*(a|aa)+(.*a){20}b', text: 'a'.repeat(1024) },
    expression: { answer: '((x+1)/(x+2))^20', text: '((x+9)/(x-7)+1/(x+3))^16' },
    numeric: { answer: '9.9e-399', text: '9.9e399' },
    json: { answer: '[9.9e-399]', text: '['.repeat(2000) + ']'.repeat(2000) },
  }
  const usual: Record<string, Answer> = {
    regex: '(a|b)*c',
    expression: 'x+1',
    fraction: '1/2',
    numeric: 5,
    choice: 'B',
    set: ['a', 'b'],
    json: '[1]',
    exact: 'a b',
  }
  const alphabet = Array.from(
    '0123456789aAbBcCxX+-*/^().,;{}[]|\\<> \n\t$"eE\u0301\ufdfa\u00bd\u{1f41d}\ud800\u0000',
  )

  it.each(VERIFIERS.map(({ name }) => [name]))('%s gives a verdict on anything, soon', (name) => {
    const dice = diceFor(`noise ${name}`)
    const { answer, text } = slow[name] ?? { answer: usual[name]!, text: 'a,'.repeat(2000) }
    const judge = readJudge(name)
    judge.verifier.key(answer, judge.settings)
    const start = performance.now()
    for (let i = 0; i < 5; i++) judge.verifier.accepts(text, answer, judge.settings)
    for (const completion of HOSTILE) judge.verifier.accepts(completion, answer, judge.settings)
    for (let i = 0; i < 10_000; i++) {
      const noise = Array.from({ length: dice.below(40) }, () => dice.pick(alphabet)).join('')
      judge.verifier.accepts(noise, usual[name]!, judge.settings)
    }
    // Some hundreds of ms on the slowest machine; a verifier that backtracks would not end at all.
    expect(performance.now() - start).toBeLessThan(20_000)
  })
})
