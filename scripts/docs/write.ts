// Writes docs/reference and the Grafana dashboard: node --import tsx scripts/docs/write.ts

import { mkdirSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { dashboard } from './dashboard.ts'
import { referencePages } from './pages.ts'

const root = new URL('../../', import.meta.url)
mkdirSync(new URL('docs/reference/', root), { recursive: true })
for (const [name, text] of Object.entries(referencePages())) {
  const file = fileURLToPath(new URL(`docs/reference/${name}`, root))
  writeFileSync(file, text)
  console.log(file)
}
const board = fileURLToPath(new URL('scripts/service/grafana/waggle.json', root))
writeFileSync(board, `${JSON.stringify(dashboard(), null, 2)}\n`)
console.log(board)
