// arc_1d: three rows before and after a hidden rule; apply it to a fourth.
//
// One of the nine tasks of SAPO's controlled run; prompts, generator and scoring are our own, and the seventy rules
// are in row-rules/. An item is drawn again if a second rule explains all examples but gives a different answer, or if
// the answer equals the input. An answer is right if every cell is right; blanks, commas, brackets and the marks that
// `plainAnswer` removes are ignored.

import { defineTask } from '../../../protocol/plugin/index.ts'
import { judge } from '../answer.ts'
import { drawInstance } from '../draw.ts'
import { plainAnswer } from '../numbers.ts'
import type { Dice } from '../random.ts'
import { ROW_RULES } from '../row-rules/index.ts'
import { describeRow, type Row, type RowRule } from '../row-rules/row.ts'
import { type Line, stepData, workedSteps } from '../steps.ts'

interface Level {
  size: [number, number]
  rules: RegExp
  words: string
}

/** Level 3 has the sizes and all rules of SAPO's run; level 5 is its hard end. */
const LEVELS: readonly Level[] = [
  {
    size: [8, 10],
    rules: /^(move_[12]pix_solid_(left|right)|gravity_(left|right)|two_points_and_fill|change_to_five)$/,
    words: 'eight easy rules',
  },
  { size: [8, 12], rules: /^(move|gravity|two_points|change)/, words: 'moves and gravity' },
  { size: [10, 16], rules: /./, words: 'all rules' },
  { size: [10, 30], rules: /./, words: 'all rules' },
  { size: [30, 45], rules: /./, words: 'all rules' },
  {
    size: [45, 60],
    rules:
      /^(duplicate_block_from_seeds|fill_until_collision|copy_block_to_dots_colors|sort_complete_sequence|reflect_block_random)$/,
    words: 'five rules that need exact copying',
  },
]

const EXAMPLES = 3
const DRAWS_PER_ROW = 20

const printRow = (row: Row): string => row.join(' ')
const same = (a: Row | null, b: Row | null): boolean =>
  a !== null && b !== null && printRow(a) === printRow(b)

interface Pair {
  before: Row
  after: Row
}

/** Draws a pair whose row the rule changes, different from all pairs in `others`. */
function drawPair(dice: Dice, rule: RowRule, length: number, others: readonly Pair[]): Pair | null {
  for (let i = 0; i < DRAWS_PER_ROW; i++) {
    const before = rule.draw(dice, length)
    const after = before && rule.apply(before)
    if (before && after && !same(before, after) && !others.some((pair) => same(pair.before, before)))
      return { before, after }
  }
  return null
}

/** True if some rule fits all examples but gives another output for the last pair. */
function isAmbiguous(examples: readonly Pair[], asked: Pair): boolean {
  return ROW_RULES.some((rule) => {
    const answer = rule.apply(asked.before)
    if (!answer || same(answer, asked.after)) return false
    return examples.every(({ before, after }) => same(rule.apply(before), after))
  })
}

const task = defineTask({
  name: 'arc_1d',
  kind: 'task',
  api: 1,
  summary: 'Find the rule that changes rows of cells, and apply it.',
  version: 2,
  difficulty: {
    min: 0,
    max: LEVELS.length - 1,
    default: 0,
    describe(index) {
      const level = LEVELS[index]
      return level ? `rows of ${level.size.join(' to ')} cells, ${level.words}` : 'no such level'
    },
  },
  generate(at) {
    return drawInstance(task, at, (dice, index) => {
      const level = LEVELS[index]!
      const rule = dice.pick(ROW_RULES.filter(({ name }) => level.rules.test(name)))
      const length = dice.between(...level.size)
      const pairs: Pair[] = []
      while (pairs.length <= EXAMPLES) {
        const pair = drawPair(dice, rule, length, pairs)
        if (!pair) return null
        pairs.push(pair)
      }
      const [asked, ...examples] = pairs as [Pair, ...Pair[]]
      if (isAmbiguous(examples, asked)) return null
      const subject = `${examples.map(({ before, after }) => `in: ${printRow(before)}\nout: ${printRow(after)}`).join('\n')}\nin: ${printRow(asked.before)}`
      return {
        subject,
        instance() {
          const question = `Find the rule and give the last row.\n${subject}`
          const key = printRow(asked.after)
          const lines: Line[] = [
            { text: `in: ${describeRow(asked.before)}` },
            { text: rule.words },
            { text: `out: ${describeRow(asked.after)}`, from: 4 },
            { text: key, value: key },
          ]
          const steps = workedSteps(question, key, rule.family, lines)
          return { question, key, steps, data: { ...stepData(question, key), rule: rule.name } }
        },
      }
    })
  },
  verify({ key }, completion) {
    return judge(completion, (answer) => {
      const plain = plainAnswer(answer, 4 * key.length + 16)
      return plain !== null && cellsOf(plain) === cellsOf(key)
    })
  },
})

export default task

/** The text without separators and brackets. */
function cellsOf(text: string): string {
  return text.replace(/[\s,[\]]/g, '')
}
