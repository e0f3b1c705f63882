// Nodes of unlike speed that trust each other: what each can do in the end, and what it could alone.
//
//   npm run -s sim:mixed -- --seeds 5 --slowness 1,1,4 --seconds 1000

import { parseArgs } from 'node:util'
import { runMixed } from '../../test/sim/mixed.ts'

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '1000' },
    /** Of each node: how many times as long as the first one's everything takes. */
    slowness: { type: 'string', default: '1,1,4' },
  },
})
const slowness = values.slowness.split(',').map(Number)
const seconds = Number(values.seconds)
const seeds = Array.from({ length: Number(values.seeds) }, (_, i) => i + 1)

/** "1.62 ± 0.05" for each node: mean and standard error over seeds. */
async function ends(isApart: boolean): Promise<string> {
  const all: number[][] = []
  for (const seed of seeds) {
    const { breaches, skills } = await runMixed({ seed, slowness, seconds, isApart })
    for (const breach of breaches) console.log(`seed ${seed}: ${breach}`)
    all.push(skills.at(-1)!)
  }
  return slowness
    .map((_, i) => {
      const of = all.map((skills) => skills[i]!)
      const middle = of.reduce((a, b) => a + b, 0) / of.length
      const variance = of.reduce((sum, one) => sum + (one - middle) ** 2, 0) / Math.max(1, of.length - 1)
      return `${middle.toFixed(2)} ± ${Math.sqrt(variance / of.length).toFixed(2)}`
    })
    .join(' | ')
}

console.log(`slowness | ${slowness.join(' | ')}`)
console.log(`apart | ${await ends(true)}`)
console.log(`together | ${await ends(false)}`)
