// Steps of a tiny random model that one processor computed, computed again by another, such as an emulated one:
//   node --import tsx scripts/sim/audits/elsewhere.ts save FILE [runs=4]      on the one
//   node --import tsx scripts/sim/audits/elsewhere.ts judge FILE              on the other; both may be bundled by esbuild
// Each run has eight steps of five groups, with one or two minibatches.

import { readFileSync, writeFileSync } from 'node:fs'
import { timesTolerated } from '../../../daemon/trainer/audit/compare.ts'
import type { ReceiptStep } from '../../../protocol/wire/index.ts'
import { audit, groupBy, METHOD, play, type Recorded } from '../../../test/trainer/audit/recorded.ts'
import { createLocalEngine } from '../../lab/nodes/engine.ts'

interface Saved {
  steps: readonly ReceiptStep[]
  minibatches: number
  /** By SHA-256, in base64. */
  bytes: Record<string, string>
}

const [what, file = '', runs = '4'] = process.argv.slice(2)

async function save(): Promise<Saved[]> {
  const all: Saved[] = []
  for (let run = 0; run < Number(runs); run++) {
    const minibatches = 1 + (run % 2)
    const groupOf = (author: string, seed: number) => groupBy(author, 5_000_000 + 10_000 * run + seed)
    const { ledger, engine } = await play({ steps: 8, minibatches, groupOf, maxBytes: 1 << 30 })
    const { steps } = ledger.offer()!
    const hashes = steps.flatMap(({ before, after, batch }) => [
      ...[before.weights, before.moments, after.weights, after.moments, batch!.hash],
    ])
    const bytes: Saved['bytes'] = {}
    for (const hash of hashes) bytes[hash] = Buffer.from((await ledger.bytes(hash))!).toString('base64')
    all.push({ steps, minibatches, bytes })
    await engine.close()
  }
  return all
}

async function judge(all: readonly Saved[]): Promise<void> {
  const engine = createLocalEngine({ threads: 1 })
  const [counts, most] = [
    { audits: 0, same: 0, failed: 0 },
    { cosine: 0, movement: 0, first: 0, second: 0, times: 0 },
  ]
  for (const { steps, minibatches, bytes } of all) {
    const ledger = {
      offer: () => ({ steps }),
      bytes: async (hash: string) => Uint8Array.from(Buffer.from(bytes[hash]!, 'base64')),
    } as Partial<Recorded['ledger']> as Recorded['ledger']
    const method = { ...METHOD, minibatches }
    for (const step of steps.keys()) {
      const verdict = await audit({ ledger }, step, { engine, method, claimed: method })
      counts.audits++
      if (verdict.outcome === 'failed') counts.failed++
      if (verdict.outcome === 'passed' && verdict.isSame) counts.same++
      const difference = 'difference' in verdict ? verdict.difference : undefined
      if (!difference) throw new Error(JSON.stringify(verdict))
      most.cosine = Math.max(most.cosine, 1 - difference.cosine)
      for (const name of ['movement', 'first', 'second'] as const)
        most[name] = Math.max(most[name], difference[name])
      most.times = Math.max(most.times, timesTolerated(difference))
    }
  }
  console.log(process.arch, JSON.stringify({ ...counts, most }))
  await engine.close()
}

if (what === 'save') writeFileSync(file, JSON.stringify(await save()))
else await judge(JSON.parse(readFileSync(file, 'utf8')) as Saved[])
