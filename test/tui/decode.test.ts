import fc from 'fast-check'
import { expect, test } from 'vitest'
import { decode, type Input } from '../../tui/screen/decode.ts'

const names = (text: string): string[] =>
  decode(text).inputs.map((input) => (input.type === 'key' ? input.name : input.type))

test('characters type themselves, control keys have names', () => {
  expect(decode('aé😀').inputs).toEqual(['a', 'é', '😀'].map((text) => ({ type: 'key', name: text, text })))
  expect(names('\r\n\t\u007f\b\u0003\u001a')).toEqual([
    ...['return', 'return', 'tab', 'backspace', 'backspace', 'ctrl-c', 'ctrl-z'],
  ])
})

test.each([
  ['\u001b[A\u001b[B\u001b[C\u001b[D', ['upArrow', 'downArrow', 'rightArrow', 'leftArrow']],
  ['\u001bOA\u001bOH\u001bOF', ['upArrow', 'home', 'end']],
  ['\u001b[1~\u001b[4~\u001b[7~\u001b[8~\u001b[3~', ['home', 'end', 'home', 'end', 'delete']],
  ['\u001b[5~\u001b[6~\u001b[Z', ['pageUp', 'pageDown', 'shift-tab']],
  ['\u001b[1;5C\u001b[1;3D\u001b[1;2A', ['ctrl-rightArrow', 'alt-leftArrow', 'upArrow']],
  ['\u001bb\u001b\u007f', ['alt-b', 'alt-backspace']],
])('keys of terminals: %j', (text, expected) => {
  expect(names(text)).toEqual(expected)
})

test('Escape and a control key are two keys', () => {
  expect(names('\u001b\u001a')).toEqual(['escape', 'ctrl-z'])
  expect(names('\u001b\u001b[A')).toEqual(['escape', 'upArrow'])
})

test('sequences that mean nothing here type nothing', () => {
  expect(decode('\u001b[?62;4c\u001b[200;1u\u001b[I\u001b[15~')).toEqual({ inputs: [], rest: '' })
})

test('a paste is one input, with whatever is in it', () => {
  expect(decode('a\u001b[200~q\r\u001b[A\u001b[201~b').inputs).toEqual([
    { type: 'key', name: 'a', text: 'a' },
    { type: 'paste', text: 'q\r\u001b[A' },
    { type: 'key', name: 'b', text: 'b' },
  ])
})

test('a paste of any length is bounded, and its end is still seen', () => {
  let rest = ''
  let inputs: Input[] = []
  for (const part of [
    '\u001b[200~',
    ...Array.from({ length: 40 }, () => 'x'.repeat(5000)),
    '\u001b[20',
    '1~q',
  ]) {
    ;({ rest, inputs } = decode(rest + part))
    expect(rest.length).toBeLessThan(66_000)
  }
  expect(inputs).toEqual([
    { type: 'paste', text: 'x'.repeat(65_536) },
    { type: 'key', name: 'q', text: 'q' },
  ])
})

test('the wheel and the left button are told, with their cell; releases and motion are not', () => {
  expect(decode('\u001b[<64;10;5M\u001b[<65;1;1M\u001b[<0;3;2M').inputs).toEqual([
    { type: 'mouse', did: 'wheelUp', column: 9, row: 4 },
    { type: 'mouse', did: 'wheelDown', column: 0, row: 0 },
    { type: 'mouse', did: 'press', column: 2, row: 1 },
  ])
  expect(decode('\u001b[<0;3;2m\u001b[<32;3;2M\u001b[<2;3;2M\u001b[<66;1;1M\u001b[<0;;M').inputs).toEqual([])
})

test('text that comes in pieces is the same as at once', () => {
  const pieces = [
    '\u001b[A',
    '\u001b[<64;10;5M',
    'x',
    '\u001b[200~ab\u001b[201~',
    '\u001bOH',
    '\u001b[3~',
    '\u0001',
  ]
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom(...pieces), { maxLength: 8 }),
      fc.array(fc.nat(60), { maxLength: 6 }),
      (given, cuts) => {
        const text = given.join('')
        const inputs: Input[] = []
        let rest = ''
        const ends = [...cuts.filter((cut) => cut < text.length).sort((a, b) => a - b), text.length]
        for (const [i, end] of ends.entries()) {
          const read = decode(rest + text.slice(ends[i - 1] ?? 0, end))
          inputs.push(...read.inputs)
          rest = read.rest
        }
        expect({ inputs, rest }).toEqual(decode(text))
      },
    ),
  )
})
