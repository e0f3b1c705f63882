// JSON Schema's own test suite against the grammars: whatever a grammar allows must be valid. Counts what it allows of
// what is valid, and which keywords are refused. Ends with an error if something invalid is allowed.
//
//   git clone https://github.com/json-schema-org/JSON-Schema-Test-Suite
//   node scripts/agents/schema-suite.ts JSON-Schema-Test-Suite/tests/draft2020-12

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { grammarOf } from '../../daemon/agents/grammar/parts.ts'
import { schemaPart } from '../../daemon/agents/grammar/schema.ts'
import { type Position, startOf } from '../../daemon/engine/grammar/positions.ts'
import { parseExactly } from '../../protocol/json.ts'

interface Case {
  description: string
  schema: unknown
  tests: { description: string; data: unknown; valid: boolean }[]
}

const [folder] = process.argv.slice(2)
if (!folder) throw new Error('name the folder of the suite')

function accepts(start: Position, text: string): boolean {
  let position: Position | undefined = start
  for (const byte of Buffer.from(text)) position = position?.step(byte)
  return position?.accepts ?? false
}

const wrong: string[] = []
const rows: Record<'schemas' | 'refused' | 'valid' | 'allowed' | 'invalid', number>[] = []
const refusals = new Map<string, number>()
for (const file of readdirSync(folder).filter((name) => name.endsWith('.json'))) {
  const cases = parseExactly(readFileSync(join(folder, file), 'utf8')) as Case[]
  const row = {
    keyword: file.replace('.json', ''),
    schemas: cases.length,
    refused: 0,
    valid: 0,
    allowed: 0,
    invalid: 0,
  }
  for (const { description, schema, tests } of cases) {
    let start: Position
    try {
      start = startOf(grammarOf(schemaPart(schema)))
    } catch (error) {
      row.refused += 1
      const why = (error as Error).message.replaceAll(/#\S*/g, '#').slice(0, 70)
      refusals.set(why, (refusals.get(why) ?? 0) + 1)
      continue
    }
    for (const test of tests) {
      const isAllowed = accepts(start, JSON.stringify(test.data))
      if (test.valid) row.valid += 1
      else row.invalid += 1
      if (test.valid && isAllowed) row.allowed += 1
      if (!test.valid && isAllowed)
        wrong.push(`${file}: ${description}: ${test.description}: ${JSON.stringify(test.data)}`)
    }
  }
  rows.push(row)
}
console.table(rows)
console.table([...refusals].sort((a, b) => b[1] - a[1]).slice(0, 40))
const total = (name: keyof (typeof rows)[number]): number => rows.reduce((sum, row) => sum + row[name], 0)
console.log(
  `${total('schemas')} schemas, ${total('refused')} refused; of the others ${total('allowed')} of ${total('valid')} valid instances are allowed, and ${wrong.length} of ${total('invalid')} invalid ones`,
)
console.log(wrong.length === 0 ? 'nothing invalid is allowed' : wrong.join('\n'))
process.exitCode = wrong.length === 0 ? 0 : 1
