// fraction_simplification: reduce a fraction to lowest terms.
//
// One of the nine tasks of SAPO's controlled run; prompts, generator and scoring are our own. The reduced parts are
// coprime by construction and the factor is at least 2, so copying the question is never right. An answer must be a
// single fraction with the key's parts; equal value is not enough.

import { defineTask } from '../../../protocol/plugin/index.ts'
import { judge } from '../answer.ts'
import { drawInstance } from '../draw.ts'
import { gcd, latexFraction, plainAnswer, readInteger } from '../numbers.ts'
import { type Line, stepData, workedSteps } from '../steps.ts'

interface Level {
  /** Range of the reduced numerator and denominator. */
  parts: [number, number]
  factor: [number, number]
  styles: ReadonlyArray<(top: number, bottom: number) => string>
}

const plain = (top: number, bottom: number): string => `${top}/${bottom}`
const STYLES = [
  plain,
  (top: number, bottom: number): string => `$\\frac{${top}}{${bottom}}$`,
  (top: number, bottom: number): string => `$\\dfrac{${top}}{${bottom}}$`,
]

/** Level 3 has the sizes of SAPO's run; level 5 is its hard end. */
const LEVELS: readonly Level[] = [
  { parts: [1, 9], factor: [2, 5], styles: [plain] },
  { parts: [1, 20], factor: [2, 10], styles: [plain] },
  { parts: [1, 100], factor: [2, 20], styles: [plain] },
  { parts: [1, 100], factor: [2, 100], styles: STYLES },
  { parts: [1, 1000], factor: [2, 100], styles: STYLES },
  { parts: [1000, 10_000], factor: [100, 1000], styles: STYLES },
]

/** Euclid's divisions starting from the larger number, the gcd, then both quotients. */
function working(top: number, bottom: number, key: string): Line[] {
  const lines: Line[] = []
  let [a, b] = [bottom, top]
  while (b > 0) {
    lines.push({ text: `${a} = ${Math.floor(a / b)}*${b} + ${a % b}` })
    ;[a, b] = [b, a % b]
  }
  lines.push({ text: `gcd ${a}`, value: `${a}` })
  lines.push({ text: `${top}/${a} = ${top / a}`, value: `${top / a}`, from: 4 })
  lines.push({ text: `${bottom}/${a} = ${bottom / a}, so ${key}`, value: key })
  return lines
}

const METHOD = 'Find the gcd by division, then divide both parts by it.'

const task = defineTask({
  name: 'fraction_simplification',
  kind: 'task',
  api: 1,
  summary: 'Bring a fraction to lowest terms.',
  version: 2,
  difficulty: {
    min: 0,
    max: LEVELS.length - 1,
    default: 0,
    describe(index) {
      const level = LEVELS[index]
      if (!level) return 'no such level'
      const styles = level.styles.length > 1 ? ', plain and LaTeX' : ''
      return `reduced parts ${level.parts.join(' to ')}, common factor ${level.factor.join(' to ')}${styles}`
    },
  },
  generate(at) {
    return drawInstance(task, at, (dice, index) => {
      const level = LEVELS[index]!
      const [n, d] = [dice.between(...level.parts), dice.between(...level.parts)]
      if (n >= d || gcd(BigInt(n), BigInt(d)) !== 1n) return null
      const factor = dice.between(...level.factor)
      const style = dice.pick(level.styles)
      const [top, bottom] = [n * factor, d * factor]
      return {
        // The style is left out: a fraction is the same question in every style.
        subject: plain(top, bottom),
        instance() {
          const question = `Lowest terms of ${style(top, bottom)}?`
          const key = plain(n, d)
          return {
            question,
            key,
            steps: workedSteps(question, key, METHOD, working(top, bottom, key)),
            data: stepData(question, key),
          }
        },
      }
    })
  },
  verify(instance, completion) {
    return judge(completion, (answer) => {
      const text = plainAnswer(answer)
      const read = text === null ? null : readFraction(text)
      if (!read) return false
      const [top, bottom] = read[1] < 0n ? [-read[0], -read[1]] : read
      return `${top}/${bottom}` === instance.key
    })
  },
})

export default task

/** `a/b`, `\frac{a}{b}` with an optional sign, or an integer; null for anything else. */
function readFraction(text: string): [bigint, bigint] | null {
  const latex = latexFraction(text)
  const parts = latex ? [latex.top, latex.bottom] : text.replace('\u2044', '/').split('/')
  if (parts.length > 2) return null
  const [top, bottom] = [parts[0] ?? '', parts[1] ?? '1'].map((part) => readInteger(part.trim()))
  if (top == null || bottom == null || bottom === 0n) return null
  return [latex?.sign === '-' ? -top : top, bottom]
}
