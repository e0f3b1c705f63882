// How long one completion from a peer can block the event loop: the node encodes its text with its own tokenizer in one
// synchronous call. Each text is as long as the node accepts. Processor time of the main thread.
//
//   node --import tsx scripts/bench/read-completion.ts [MODEL]      (a folder; the default model if none is given)

import { availableParallelism, cpus } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { codecOf } from '../../daemon/policy/codec.ts'
import { loadModel } from '../../daemon/policy/model.ts'
import { nodeDisk } from '../../daemon/store/node-disk.ts'
import { underOwnTokenizer } from '../../daemon/swarm/admission/own-tokenizer.ts'
import type { SharedGroup } from '../../protocol/wire/index.ts'

const { positionals } = parseArgs({ allowPositionals: true })
const folder = positionals[0] ?? fileURLToPath(new URL('../../models/default', import.meta.url))
const { tokenizer, spec } = await loadModel(folder, { disk: nodeDisk })
const codec = codecOf(tokenizer, spec.vocabulary, spec.contextLength)

const KINDS: Record<string, (length: number) => string> = {
  'one letter': (length) => 'a'.repeat(length),
  'letters without a space': (length) => lettersOf(length),
  spaces: (length) => ' '.repeat(length),
  digits: (length) => '7'.repeat(length),
  'different words': (length) => lettersOf(length).replace(/(.{5})./g, '$1 '),
  'characters outside the vocabulary': (length) => '\u{10348}'.repeat(length / 2),
}
const ROUNDS = 9

/** Reproducible random letters. */
function lettersOf(length: number): string {
  let state = 1
  return Array.from({ length }, () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    return String.fromCharCode(97 + ((state >>> 16) % 26))
  }).join('')
}

console.log(`${cpus()[0]!.model}, ${availableParallelism()} cores`)
for (const most of [96, 512, 4096]) {
  for (const [kind, make] of Object.entries(KINDS)) {
    const times: number[] = []
    let said = ''
    for (let round = 0; round < ROUNDS; round++) {
      // Each round begins differently, so that the tokenizer's cache does not help.
      const text = `${round} ${make(16 * most - 2)}`
      const began = process.threadCpuUsage()
      const own = underOwnTokenizer(
        { text, finish: 'length', segments: [] },
        { policy: { version: 0, lineage: '', tokenizer: 'another' } } as unknown as SharedGroup,
        { codec, most },
      )
      const { user, system } = process.threadCpuUsage(began)
      times.push((user + system) / 1000)
      said = typeof own === 'string' ? `refused: ${own}` : `${own.tokens.length} tokens`
    }
    times.sort((a, b) => a - b)
    const [median, worst] = [times[ROUNDS >> 1]!, times.at(-1)!]
    console.log(
      `${String(most).padStart(5)} tokens allowed  ${kind.padEnd(34)} ${median.toFixed(1).padStart(8)} ms (worst ${worst.toFixed(1)})  ${said}`,
    )
  }
}
