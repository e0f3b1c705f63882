// What grammars allow: JSON of schemas, expressions, choices, tool calls.

import { describe, expect, it } from 'vitest'
import { type AnswerForm, answerGrammar, type Form } from '../../daemon/agents/grammar/answers.ts'
import { grammarOf, utf8Ranges } from '../../daemon/agents/grammar/parts.ts'
import { schemaPart } from '../../daemon/agents/grammar/schema.ts'
import { anyObject } from '../../daemon/agents/grammar/values.ts'
import type { Grammar } from '../../daemon/engine/grammar/grammar.ts'
import { createMasks } from '../../daemon/engine/grammar/masks.ts'
import { type Position, startOf } from '../../daemon/engine/grammar/positions.ts'
import { createTokenizer } from '../../daemon/policy/tokens/tokenizer.ts'
import { parseExactly } from '../../protocol/json.ts'
import { uniform } from '../engine/model.ts'
import { byteTokenizer } from '../policy/tokenizers.ts'

function allows(grammar: Grammar, text: string): boolean {
  let position: Position | undefined = startOf(grammar)
  for (const byte of Buffer.from(text)) position = position?.step(byte)
  return position?.accepts ?? false
}
const ofSchema = (schema: unknown): Grammar => grammarOf(schemaPart(schema))
const plain: AnswerForm = { tools: [], isSingle: false, isStrict: false }
const ofForm = (form: Form): Grammar => answerGrammar({ ...plain, form })!

/** A text that the grammar allows, with its bytes drawn at random; it ends as soon as it may, after some length. */
function written(grammar: Grammar, seed: number, length = 60): string {
  const random = uniform(seed)
  const bytes: number[] = []
  let position = startOf(grammar)
  for (;;) {
    const next = Array.from({ length: 256 }, (_, byte) => byte).filter((byte) => position.step(byte))
    if (next.length === 0 || (position.accepts && (bytes.length > length || random() < 0.2))) break
    // After a while, what closes something is taken if it can be.
    const closing =
      bytes.length > length ? next.find((byte) => '"}]'.includes(String.fromCharCode(byte))) : undefined
    bytes.push(closing ?? next[Math.floor(random() * next.length)]!)
    position = position.step(bytes.at(-1)!)!
  }
  return Buffer.from(bytes).toString()
}

describe('a schema', () => {
  const person = {
    type: 'object',
    properties: { name: { type: 'string' }, age: { type: 'integer', minimum: 0, maximum: 150 } },
    required: ['name'],
    additionalProperties: false,
  }
  const tree = {
    $defs: {
      node: { type: 'object', properties: { of: { type: 'array', items: { $ref: '#/$defs/node' } } } },
    },
    $ref: '#/$defs/node',
  }
  const union = {
    oneOf: [
      { type: 'object', properties: { kind: { const: 'a' }, x: { type: 'null' } }, required: ['kind'] },
      { type: 'object', properties: { kind: { const: 'b' } }, required: ['kind'] },
    ],
  }
  it.each<[string, unknown, string[], string[]]>([
    ['types', { type: ['null', 'boolean'] }, ['null', 'true'], ['1', '"null"', 'nul']],
    ['anything', true, ['{"a": [1, null, "\\n"]}', '-1.5e-3', '[]'], ['{a:1}', '01', '[1,]', '"\n"', '+1']],
    [
      'properties',
      person,
      ['{"name":"é","age":7}', '{"name": ""}'],
      ['{"age":7}', '{"name":"x","age":151}', '{"name":"x","b":1}'],
    ],
    [
      'only optional ones',
      { properties: { a: true, b: true } },
      ['{}', '{"b":1}', '{"a":1,"b":2}'],
      ['{"b":1,"a":2}', '{,}'],
    ],
    [
      'other properties',
      { properties: { ab: { type: 'null' } }, additionalProperties: { type: 'integer' } },
      ['{"a":1,"abc":2}', '{"ab":null,"x":-3}', '{"":0}'],
      ['{"ab":1}', '{"\\u0061b":1}', '{"a":"x"}'],
    ],
    [
      'items',
      { type: 'array', items: { type: 'boolean' }, minItems: 1, maxItems: 2 },
      ['[true]', '[ true, false ]'],
      ['[]', '[true,true,true]'],
    ],
    [
      'items by place',
      { prefixItems: [{ const: 1 }, { const: 2 }], items: false },
      ['[]', '[1,2]'],
      ['[2]', '[1,2,3]'],
    ],
    ['values', { enum: ['a"', 1, null, [2]] }, ['"a\\""', '1', 'null', '[2]'], ['"a', '2']],
    [
      'numbers as they are written',
      parseExactly('{"const":9007199254740993}'),
      ['9007199254740993'],
      ['9007199254740992'],
    ],
    [
      'lengths in characters',
      { type: 'string', minLength: 1, maxLength: 2 },
      ['"é€"', '"\\n\\u00e9"'],
      ['""', '"abc"', '"\\ud800"'],
    ],
    ['patterns anywhere', { pattern: '[0-9]{2}' }, ['"12"', '"a123"'], ['"1"', '"a1b2"']],
    ['anchored patterns', { pattern: '^a+b?$|^"$' }, ['"aab"', '"\\""'], ['"ab "', '"b"', '"\\\\"']],
    ['formats', { type: 'string', format: 'date' }, ['"2026-11-25"'], ['"2026-13-01"', '"today"']],
    ['alternatives', { anyOf: [{ type: 'null' }, { type: 'integer' }] }, ['null', '-7'], ['1.5', '"1"']],
    [
      'alternatives that exclude each other',
      union,
      ['{"kind":"b"}', '{"kind":"a","x":null}'],
      ['{"kind":"c"}', '{"x":null}'],
    ],
    [
      'all of',
      { allOf: [person, { properties: { name: { const: 'x' } } }] },
      ['{"name":"x"}'],
      ['{"name":"y"}'],
    ],
    ['references to itself', tree, ['{"of":[{},{"of":[]}]}'], ['{"of":[1]}']],
  ])('has %s', (_, schema, yes, no) => {
    const grammar = ofSchema(schema)
    expect(yes.filter((text) => !allows(grammar, text))).toEqual([])
    expect(no.filter((text) => allows(grammar, text))).toEqual([])
  })

  it('of the format date allows every day that the calendar has, and no other', () => {
    const grammar = ofSchema({ format: 'date' })
    const two = (value: number): string => String(value).padStart(2, '0')
    for (const year of [1900, 2000, 2023, 2024, 2100])
      for (let month = 0; month <= 13; month++)
        for (let day = 0; day <= 32; day++) {
          const text = `${year}-${two(month)}-${two(day)}`
          const time = Date.parse(`${text}T00:00:00Z`)
          const isDay = !Number.isNaN(time) && new Date(time).toISOString().startsWith(text)
          expect(allows(grammar, `"${text}"`), text).toBe(isDay)
        }
  })

  it('of the format date-time allows the last day of a month at any time and offset', () => {
    const grammar = ofSchema({ format: 'date-time' })
    const yes = ['2024-03-31T23:59:59Z', '2024-02-29T00:00:00.123456+05:30', '2023-12-31T12:00:00-08:00']
    const no = ['2023-02-29T00:00:00Z', '2024-03-31', '2024-03-31T24:00:00Z', '2024-03-31T23:59:59+24:00']
    expect(yes.filter((text) => !allows(grammar, `"${text}"`))).toEqual([])
    expect(no.filter((text) => allows(grammar, `"${text}"`))).toEqual([])
  })

  it.each([
    'http://localhost:11434',
    'https://example.com:65535/',
    'https://example.com/a%20b/c//d',
    `https://example.com/${'a-long-name-'.repeat(4)}`,
    "https://example.com/~me/a(b);c=1,2!$&'*+@:x",
    'https://example.com?q=1',
    'https://example.com/search?q=a%26b&to=/x?y#part-2/?',
    'https://example.com#top',
  ])('of the format uri allows %s', (url) => {
    expect(allows(ofSchema({ format: 'uri' }), JSON.stringify(url))).toBe(true)
  })

  it.each([
    'https://example.com:65536',
    'https://example.com:',
    'https://example.com/a b',
    'https://example.com/%2',
    'https://example.com/%zz',
    'https://example.com/#a#b',
    'https://example.com/[a]',
    'example.com/a',
  ])('of the format uri does not allow %s', (url) => {
    expect(allows(ofSchema({ format: 'uri' }), JSON.stringify(url))).toBe(false)
  })

  it.each<[string, unknown]>([
    ['"not" at #', { not: {} }],
    ['"uniqueItems" at #/properties/a', { properties: { a: { type: 'array', uniqueItems: true } } }],
    ['"multipleOf" at #', { multipleOf: 2 }],
    ['"patternProperties" at #', { patternProperties: {} }],
    ['only one of "pattern", "format" and a length', { pattern: 'a', maxLength: 2 }],
    ['the alternatives of "oneOf" at # may hold together', { oneOf: [{ type: 'string' }, { minLength: 2 }] }],
    ['must begin with "#/"', { $ref: 'other.json' }],
    ['which is not there', { $ref: '#/$defs/a' }],
    ['the references at # do not end', { $ref: '#' }],
    ['refers to itself without reading', { anyOf: [{ $ref: '#' }, { type: 'null' }] }],
    ['no answer fits', { properties: { a: { $ref: '#' } }, required: ['a'] }],
    ['no answer fits', { type: 'integer', minimum: 3, maximum: 2 }],
    ['has a look-around or a flag', { pattern: '(?=a)' }],
    ['is too large', { type: 'array', minItems: 100_000 }],
  ])('is refused by name: %s', (message, schema) => {
    expect(() => ofSchema(schema)).toThrow(message)
  })

  it('of which anything is written is valid JSON of it', () => {
    const schema = {
      type: 'object',
      properties: {
        id: { type: 'integer', exclusiveMinimum: -20, maximum: 1000 },
        share: { type: 'number', minimum: 0.25, exclusiveMaximum: 1.5 },
        words: { type: 'array', items: { type: 'string', pattern: '^[a-zé"]{1,3}$' }, maxItems: 3 },
        any: {},
      },
      required: ['id', 'share', 'words', 'any'],
    }
    const grammar = ofSchema(schema)
    for (let seed = 0; seed < 40; seed++) {
      const value = JSON.parse(written(grammar, seed, 200)) as { id: number; share: number; words: string[] }
      expect(Object.keys(value)).toEqual(['id', 'share', 'words', 'any'])
      expect(Number.isInteger(value.id) && value.id > -20 && value.id <= 1000).toBe(true)
      expect(value.share >= 0.25 && value.share < 1.5).toBe(true)
      for (const word of value.words) expect(word).toMatch(/^[a-zé"]{1,3}$/)
    }
  })

  it.each([
    [0, 9],
    [-12, 105],
    [95, 1203],
    [-205, -17],
  ])('allows exactly the whole numbers from %i to %i', (minimum, maximum) => {
    const grammar = ofSchema({ type: 'integer', minimum, maximum })
    for (let value = -1300; value <= 1300; value++)
      expect(allows(grammar, String(value)), String(value)).toBe(value >= minimum && value <= maximum)
  })

  it.each<[string, unknown, string]>([
    ['of an integer', { type: 'integer' }, '1234567890123456'],
    ['of a negative integer', { type: 'integer' }, '-1234567890123456'],
    ['of a time in nanoseconds', { type: 'integer', minimum: 0 }, '1767225600123456789'],
    ['of 32 digits', { type: 'integer', minimum: -5 }, '9'.repeat(32)],
    ['above a bound of many digits', { type: 'integer', minimum: 1e16 }, '123456789012345678'],
    ['below an upper bound', { type: 'integer', maximum: 9 }, '-1234567890123456'],
    [
      'up to an upper bound of many digits',
      parseExactly('{"type":"integer","maximum":9007199254740993}'),
      '9007199254740992',
    ],
    ['before a fraction', { type: 'number', minimum: 0.5 }, '1234567890123456.25'],
    ['after the point', { type: 'number' }, '0.30000000000000004'],
    ['in any object', { type: 'object' }, '{"order":1234567890123456}'],
  ])('keeps all digits %s', (_, schema, text) => {
    expect(allows(ofSchema(schema), text)).toBe(true)
  })

  it.each<[string, unknown, string]>([
    ['below a lower bound', { type: 'integer', minimum: 1e16 }, '9999999999999999'],
    ['of more digits than an upper bound', { type: 'integer', maximum: 99 }, '1234567890123456'],
    ['that begins with zero', { type: 'integer', minimum: 0 }, '01234567890123456'],
    [
      'above an upper bound of many digits',
      parseExactly('{"type":"integer","maximum":9007199254740993}'),
      '9007199254740994',
    ],
    ['that a double takes for an excluded bound', { exclusiveMinimum: 1 }, '1.00000000000000001'],
  ])('allows no number %s', (_, schema, text) => {
    expect(allows(ofSchema(schema), text)).toBe(false)
  })

  it('allows exactly the decimal numbers within its bounds', () => {
    const grammar = ofSchema({ type: 'number', exclusiveMinimum: -0.55, maximum: 12.3 })
    for (let tenth = -200; tenth <= 200; tenth++)
      for (const text of [(tenth / 10).toFixed(1), (tenth / 10).toFixed(2), `${(tenth / 10).toFixed(1)}5`])
        if (!text.startsWith('-0.0'))
          expect(allows(grammar, text), text).toBe(Number(text) > -0.55 && Number(text) <= 12.3)
  })
})

describe('an expression', () => {
  it.each<[string, string[], string[]]>([
    ['a|bc', ['a', 'bc'], ['ab', '']],
    ['^\\d{1,3}$', ['007'], ['', '1234']],
    ['[^a-c]+', ['xyz', 'é'], ['xa']],
    ['(ab)*c?', ['', 'ababc'], ['abc1', 'a']],
    ['(?:x|(?<n>y)){2,}', ['xy', 'yyy'], ['x']],
    ['[\\w.-]+@x', ['a-b.c@x'], ['@x']],
    ['\\u{1F600}|\\x41|\\.', ['😀', 'A', '.'], ['a']],
    ['yes|no$', ['yes', 'no'], ['maybe']],
  ])('%s', (regex, yes, no) => {
    const grammar = ofForm({ kind: 'regex', regex })
    expect(yes.filter((text) => !allows(grammar, text))).toEqual([])
    expect(no.filter((text) => allows(grammar, text))).toEqual([])
  })

  it.each(['(', ')', '[a', '*', 'a**', 'a{3,2}', '\\b', '\\1', 'a(?!b)', '(^a)', '\\u{110000}'])(
    'is refused: %s',
    (regex) => expect(() => ofForm({ kind: 'regex', regex })).toThrow(/the pattern/),
  )
})

it('as many choices as there may be are allowed, and no other text', () => {
  const choices = Array.from({ length: 4096 }, (_, i) => `choice ${i}`)
  const grammar = ofForm({ kind: 'choice', choices })
  expect(['choice 0', 'choice 4095', 'choice', 'choice 4096'].map((text) => allows(grammar, text))).toEqual([
    ...[true, true],
    ...[false, false],
  ])
})

describe('tool calls', () => {
  const call = { before: '<tool_call>\n{"name": "', between: '", "arguments":', after: '}\n</tool_call>' }
  const tools = [
    { name: 'look', arguments: schemaPart({ properties: { at: { type: 'integer' } }, required: ['at'] }) },
    { name: 'go', arguments: anyObject },
  ]
  const of = (more: Partial<AnswerForm>): Grammar => answerGrammar({ ...plain, tools, call, ...more })!
  const look = '<tool_call>\n{"name": "look", "arguments": {"at": 1}}\n</tool_call>'

  it('that have been begun go on with the tool', () => {
    const named = of({ begun: { name: 'look' }, isSingle: true })
    expect(allows(named, ' {"at": 1}}\n</tool_call>')).toBe(true)
    expect(allows(named, ' {"at": "x"}}\n</tool_call>')).toBe(false)
    const any = of({ begun: {} })
    expect(allows(any, `go", "arguments": {}}\n</tool_call>\n${look}`)).toBe(true)
    expect(allows(any, 'run", "arguments": {}}\n</tool_call>')).toBe(false)
  })

  it('keep all digits of a number', () => {
    const grammar = of({ begun: { name: 'look' }, isSingle: true })
    expect(allows(grammar, '{"at":1234567890123456}}\n</tool_call>')).toBe(true)
  })

  it('keep all digits of a number that the tool does not describe', () => {
    const grammar = of({ begun: { name: 'go' }, isSingle: true })
    expect(allows(grammar, '{"to":[1234567890123456]}}\n</tool_call>')).toBe(true)
  })

  it('stand in text as their tools describe them', () => {
    const grammar = of({ isStrict: true })
    for (const text of ['', 'Well, <b>no</b> <tool_cal', `Let us see. ${look}`, `\n${look}\n${look}`])
      expect(allows(grammar, text), text).toBe(true)
    for (const text of [
      '<tool_call>',
      look.replace('1', '"1"'),
      look.replace('look', 'run'),
      '{"name": "go"}',
    ])
      expect(allows(grammar, text), text).toBe(false)
  })

  it('may stand in for an answer of a form', () => {
    const grammar = of({ form: { kind: 'choice', choices: ['yes', 'no'] } })
    expect([look, 'yes', 'well'].map((text) => allows(grammar, text))).toEqual([true, true, false])
  })

  it('follow the thought that the prompt has opened', () => {
    const grammar = of({ form: { kind: 'choice', choices: ['yes'] }, tools: [], inThought: '</think>' })
    expect(['[hm]</think>\n\nyes', 'hm</think>yes', 'yes'].map((text) => allows(grammar, text))).toEqual([
      false,
      true,
      false,
    ])
  })
})

it('a string of up to 20,000 characters can be asked for', () => {
  expect(ofSchema({ type: 'string', maxLength: 20_000 })).toBeDefined()
})

it('characters are the ranges of bytes that UTF-8 has for them', () => {
  const random = uniform(7)
  for (let i = 0; i < 200; i++) {
    const [low, high] = [random(), random()]
      .map((part) => Math.floor(part ** 3 * 0x110000))
      .sort((a, b) => a - b)
    const ranges = utf8Ranges(low!, high!)
    const has = (code: number): boolean => {
      const bytes = Buffer.from(String.fromCodePoint(code))
      return ranges.some(
        (range) =>
          range.length === bytes.length &&
          range.every(([from, to], at) => from <= bytes[at]! && bytes[at]! <= to),
      )
    }
    for (const code of [low! - 1, low!, Math.floor((low! + high!) / 2), high!, high! + 1])
      if (code >= 0 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff))
        expect(has(code), `${code} in ${low}-${high}`).toBe(code >= low! && code <= high!)
  }
})

describe('masks', () => {
  it.each(['byte-level', 'byte-fallback'] as const)(
    'allow the tokens of a %s vocabulary that a grammar goes on with',
    (kind) => {
      const tokenizer = createTokenizer(byteTokenizer(kind))
      const tokenBytes = tokenizer.tokenBytes(520)
      const grammar = ofSchema({ enum: ['aé', 'b'] })
      const mask = createMasks(tokenBytes).of(grammar, tokenizer.stopTokens)
      const taken: number[] = []
      const textOf = (token: number): Buffer =>
        Buffer.from(
          tokenBytes.bytes.subarray(token ? tokenBytes.ends[token - 1]! : 0, tokenBytes.ends[token]),
        )
      for (;;) {
        const bits = mask.allowed()
        const allowed = Array.from({ length: 520 }, (_, token) => token).filter(
          (token) => (bits[token >>> 5]! >>> (token & 31)) & 1,
        )
        const before = Buffer.concat(taken.map(textOf))
        const goesOn = (token: number): boolean =>
          textOf(token).length > 0 &&
          ['"aé"', '"b"'].some((text) =>
            Buffer.from(text)
              .subarray(0, before.length + textOf(token).length)
              .equals(Buffer.concat([before, textOf(token)])),
          )
        const isWhole = ['"aé"', '"b"'].includes(before.toString())
        expect(allowed).toEqual(
          Array.from({ length: 520 }, (_, token) => token).filter(
            (token) => goesOn(token) || (isWhole && tokenizer.stopTokens.includes(token)),
          ),
        )
        if (isWhole) break
        taken.push(allowed[0]!)
        mask.take(allowed[0]!)
      }
      expect(tokenizer.decodeCompletion(Int32Array.from(taken))).toBe('"aé"')
    },
  )

  it('say so where the vocabulary has no token to go on with', () => {
    const masks = createMasks({ bytes: Buffer.from('a'), ends: Int32Array.of(1) })
    expect(() => masks.of(ofSchema({ const: 'a' }), [0]).allowed()).toThrow(/no token of the model continues/)
  })
})
