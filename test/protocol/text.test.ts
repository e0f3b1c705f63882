import { expect, test } from 'vitest'
import { safeText } from '../../protocol/text.ts'

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
