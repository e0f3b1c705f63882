// base_conversion: convert a number from one base to another.
//
// One of the nine tasks of SAPO's controlled run; prompts, generator and scoring are our own. Numbers that look the
// same in both bases are drawn again, so copying the question is never right. An answer is right if its digits are
// the key's, ignoring case, leading zeros and a prefix that fits the base (0b, 0o, 0x).

import { defineTask } from '../../../protocol/plugin/index.ts'
import { judge } from '../answer.ts'
import { drawInstance } from '../draw.ts'
import { MAX_NUMBER_CHARS, plainAnswer } from '../numbers.ts'
import { type Line, stepData, workedSteps } from '../steps.ts'

interface Level {
  bases: [number, number]
  values: [number, number]
}

/**
 * Level 3 has the sizes of SAPO's run; level 5 is its hard end. Each level takes more steps on average than the last.
 */
const LEVELS: readonly Level[] = [
  { bases: [2, 10], values: [1, 31] },
  { bases: [2, 10], values: [1, 100] },
  { bases: [2, 10], values: [1, 300] },
  { bases: [2, 16], values: [1, 1000] },
  { bases: [2, 36], values: [1, 10_000] },
  { bases: [11, 36], values: [100_000, 1_000_000] },
]

/** "13*16 + 5 = 213" for d5 in base 16; null for base ten, where nothing needs converting. */
function expansion(digits: string, base: number, value: number): Line | null {
  if (base === 10) return null
  const terms = [...digits].map((digit, i) => {
    const power = base ** (digits.length - 1 - i)
    return power === 1 ? `${digitValue(digit)}` : `${digitValue(digit)}*${power}`
  })
  return { text: `${terms.join(' + ')} = ${value}`, value: `${value}` }
}

function digitValue(digit: string): number {
  return '0123456789abcdefghijklmnopqrstuvwxyz'.indexOf(digit)
}

/** "213 = 23*9 + 6" and so on down to a quotient of 0, then the remainders in reverse order. */
function divisions(value: number, base: number, key: string): Line[] {
  if (base === 10) return []
  const lines: Line[] = []
  for (let rest = value; rest > 0; rest = Math.floor(rest / base)) {
    const remainder = rest % base
    const letter = remainder > 9 ? ` (${remainder.toString(base)})` : ''
    lines.push({ text: `${rest} = ${Math.floor(rest / base)}*${base} + ${remainder}${letter}` })
  }
  return [...lines, { text: `upwards: ${key}`, value: key }]
}

const METHODS = {
  both: 'Go through decimal: expand, then divide by the new base and read the remainders upwards.',
  fromTen: 'Divide by the new base and read the remainders upwards.',
  toTen: 'Expand in powers of the base.',
}

const task = defineTask({
  name: 'base_conversion',
  kind: 'task',
  api: 1,
  summary: 'Rewrite a whole number from one base in another.',
  version: 2,
  difficulty: {
    min: 0,
    max: LEVELS.length - 1,
    default: 0,
    describe(index) {
      const level = LEVELS[index]
      if (!level) return 'no such level'
      return `bases ${level.bases.join(' to ')}, values ${level.values.join(' to ')}`
    },
  },
  generate(at) {
    return drawInstance(task, at, (dice, index) => {
      const level = LEVELS[index]!
      const value = dice.between(...level.values)
      const [from, to] = [dice.between(...level.bases), dice.between(...level.bases)]
      const given = value.toString(from)
      const key = value.toString(to)
      if (given === key) return null
      return {
        subject: `${given} ${from} ${to}`,
        instance() {
          const letters = Math.max(from, to) > 10 ? ' Use a-z for digits above 9.' : ''
          const question = `Rewrite the base-${from} number ${given} in base ${to}.${letters}`
          const method = from === 10 ? METHODS.fromTen : to === 10 ? METHODS.toTen : METHODS.both
          const first = expansion(given, from, value)
          const lines = [...(first ? [first] : []), ...divisions(value, to, key)]
          return {
            question,
            key,
            steps: workedSteps(question, key, method, lines),
            data: { ...stepData(question, key), base: to },
          }
        },
      }
    })
  },
  verify(instance, completion) {
    return judge(completion, (answer) => {
      const plain = plainAnswer(answer)
      if (plain === null || plain.length > MAX_NUMBER_CHARS) return false
      const { base } = instance.data as { base: number }
      return withoutPrefix(plain.toLowerCase(), base).replace(/^0+(?=.)/, '') === instance.key
    })
  },
})

export default task

function withoutPrefix(digits: string, base: number): string {
  const prefix = base === 2 ? '0b' : base === 8 ? '0o' : base === 16 ? '0x' : null
  return prefix !== null && digits.startsWith(prefix) ? digits.slice(prefix.length) : digits
}
