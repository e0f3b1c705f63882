// Texts for comparing tokenizers and log-probs: prose, code, numbers, many scripts, odd spaces, random characters.

import { randomStream } from '../../../daemon/host/random.ts'

/** Long enough for a log-prob at every place to say something. */
export const PASSAGES = [
  'The capital of France is Paris, which lies on the river Seine. About two million people live in the city itself, and more than ten million in the region around it.',
  'def factorial(n):\n    if n <= 1:\n        return 1\n    return n * factorial(n - 1)\n\nprint(factorial(10))  # 3628800\n',
  'Question: A farmer has 17 sheep. All but 9 run away. How many are left?\nAnswer: All but 9 run away, so 9 are left.',
  'Die Würde des Menschen ist unantastbar. Sie zu achten und zu schützen ist Verpflichtung aller staatlichen Gewalt.',
  'Water boils at 100 °C at sea level; at 3000 m it boils at about 90 °C, because the pressure is lower.',
]

const SCRIPTS = [
  'naïve café, Ærøskøbing, żółw, İstanbul', 'Съешь же ещё этих мягких французских булок', 'Η γρήγορη καφέ αλεπού',
  '敏捷的棕色狐狸跳过了懒狗。', 'いろはにほへと ちりぬるを', '다람쥐 헌 쳇바퀴에 타고파', 'نص حكيم له سر قاطع', 'דג סקרן שט בים',
  'ऋषियों को सताने वाले दुष्ट', 'กฎหมายนี้ ใช้บังคับ', '👩‍👩‍👧‍👦 🏳️‍🌈 🇨🇭 😀😃', 'e\u0301 a\u0308 \u1112\u1161\u11ab', '½ ² ٣ ௩ Ⅷ ⑤', '∑∫√≈≠ ⟨ψ|φ⟩',
] // biome-ignore format: a list
const SPACES = [
  ' ',
  '  ',
  '    ',
  '\t',
  '\n',
  '\n\n',
  '\r\n',
  ' \n ',
  '\u00a0',
  '\u3000',
  '\n\n\n\n',
  '                ',
]
const PIECES = [
  "I'm", "don't", "WE'LL", 'it’s', 'Hello', 'world', 'the', '3.14159', '1234567890', '2^10=1024', '$1,299.00', '...', '?!', '--',
  'camelCase', 'snake_case', '<div class="x">', '</s>', '{"a": [1, 2]}', 'https://example.org/?q=1&r=2', 'a@b.co', '#!/bin/sh', '\\n', '```',
  'x', 'I', 'ſ', 'ß', 'ﬁ', '\ufeff', '\u200b', '\u0085', '_', '▁', 'Ġ',
] // biome-ignore format: a list

/** The same for the same count. */
export function textsOf(count: number): string[] {
  const random = randomStream(20261122, 'texts')
  const one = (list: readonly string[]): string => list[Math.floor(random() * list.length)]!
  const texts = [...PASSAGES, ...SCRIPTS, ...PIECES, ...SPACES]
  while (texts.length < count) {
    let text = ''
    for (let i = 0; i <= random() * 12; i++) {
      const kind = random()
      if (kind < 0.4) text += one(PIECES) + one(SPACES)
      else if (kind < 0.6) text += one(SCRIPTS)
      else if (kind < 0.75) text += one(SPACES)
      else if (kind < 0.9) text += String(Math.floor(random() * 10 ** Math.floor(random() * 9)))
      else text += character(random)
    }
    texts.push(text)
  }
  return texts.slice(0, count)
}

/** Any character that Unicode may give a meaning. */
function character(random: () => number): string {
  const code = Math.floor(random() * (random() < 0.7 ? 0x3000 : 0x20000)) + 1
  return code >= 0xd800 && code < 0xe000 ? '?' : String.fromCodePoint(code)
}
