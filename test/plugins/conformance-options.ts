// Texts that built-in plugins can read, and settings with which they do something within a few rounds, so that the
// conformance checks have something to check.

import type { ConformanceOptions } from '../../protocol/plugin/testing/index.ts'

const LEVELS = JSON.stringify({
  level_1: 'Work column by column.',
  level_2: 'Begin on the right.',
  level_3: 'Carry what is more than nine.',
})
const skill = (index: number): string =>
  JSON.stringify({
    skill_name: `add_columns_${index}`,
    problem_type: 'general',
    key_insight: 'columns can be added one by one',
    method: ['write one below the other', 'add from the right'],
    check: 'subtract again',
  })
const WORDS = ['amber', 'bold', 'crane', 'dove', 'eager', 'finch', 'gecko', 'heron', 'ibex', 'jolly', 'kite']
const words = (from: number): string =>
  Array.from({ length: 4 }, (_, i) => WORDS[(from * 4 + i) % WORDS.length]).join(' ')

export const OPTIONS: Record<string, ConformanceOptions> = {
  'correction/kl': { settings: { target: 0.1 } },
  'hint/hill': { write: (_, { index }) => (index === 0 ? 'none' : '<hint>Begin on the right.</hint>') },
  'hint/sage': { write: () => LEVELS },
  'hint/sage_light': { write: () => LEVELS },
  'hint/scaf_grpo': { settings: { exemption: 1 } },
  'skill/arise': { settings: { warmUp: 2 }, write: (_, { index }) => skill(index) },
  'skill/slea': {
    settings: { warmUp: 2, smallest: 2 },
    write: (prompt) => {
      const at = prompt.length % 97
      return `principle: ${words(at)}\nmethod: ${words(at + 3)}\nmistake: ${words(at + 5)}`
    },
  },
  'skill/training_free_grpo': {
    write: (prompt) =>
      prompt.includes('JSON list of edits')
        ? JSON.stringify([{ operation: 'ADD', content: `when adding, ${words(prompt.length % 89)}` }])
        : 'It added from the right.',
  },
}
