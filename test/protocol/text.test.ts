import { expect, test } from 'vitest'
import { isPeerName, peerName, safeText } from '../../protocol/text.ts'

test.each([
  ['a tag', 0xe0041],
  ['a language tag', 0xe0001],
  ['a variation selector', 0xfe0f],
  ['a supplementary variation selector', 0xe0100],
  ['a Hangul filler', 0x3164],
  ['a Hangul choseong filler', 0x115f],
  ['a Hangul jungseong filler', 0x1160],
  ['a half-width Hangul filler', 0xffa0],
  ['a grapheme joiner', 0x034f],
  ['a Mongolian variation selector', 0x180b],
  ['an empty Braille pattern', 0x2800],
  ['a zero-width space', 0x200b],
  ['a bidi override', 0x202e],
  ['a soft hyphen', 0x00ad],
  ['an escape', 0x1b],
  ['a lone surrogate', 0xd800],
])('%s does not hide in a name', (_, code) => {
  expect(safeText(`quick-${String.fromCodePoint(code)}otter`)).toBe('quick-·otter')
})

test('what can be seen stays, in every script', () => {
  const text = 'naïve Ωμέγα 한국어 日本語 العربية हिन्दी 🐝 ½ ⠿ –\n\tx'
  expect(safeText(text)).toBe(text)
})

test('marks that would cover other lines are cut to four on a letter', () => {
  const [acute, below] = ['\u0301', '\u0323']
  expect(safeText(`a${acute.repeat(50)}b`)).toBe(`a${acute.repeat(4)}·b`)
  expect(safeText(`a${below}${acute.repeat(3)}${below}b`)).toBe(`a${below}${acute.repeat(3)}·b`)
})

test('letters keep the marks of their script', () => {
  for (const text of ['Tiếng Việt'.normalize('NFD'), 'क्षेत्रीय', 'ก็ที่สุด', 'שָׁלוֹם', 'བསྒྲུབས'])
    expect(safeText(text)).toBe(text)
})

test('names are told from other words', () => {
  expect(['quick-otter', peerName('12D3KooWabc')].every(isPeerName)).toBe(true)
  expect(['quick', 'otter-quick', 'quick-otter2', '12D3KooWabc', '/ip4/1.2.3.4'].some(isPeerName)).toBe(false)
})
