// How long can one completion from a peer block the event loop? The node encodes its text with its own tokenizer, in
// slices. Each text here is as long as the node accepts. Prints the main thread's processor time for the longest
// slice and for all.
//
//   node --import tsx scripts/bench/read-completion.ts [MODEL]      (a folder; default: the default model)

import { availableParallelism, cpus } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { loadModel } from '../../daemon/policy/model.ts'
import { codecOf } from '../../daemon/policy/tokens/codec.ts'
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
  'the same word': (length) => 'answer '.repeat(length / 7),
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
    const times: { longest: number; all: number }[] = []
    let said = ''
    for (let round = 0; round < ROUNDS; round++) {
      // Each round begins differently, so that the tokenizer's cache does not help.
      const text = `${round} ${make(16 * most - 2)}`
      const reading = underOwnTokenizer(
        { text, finish: 'length', segments: [] },
        { policy: { version: 0, lineage: '', tokenizer: 'another' } } as unknown as SharedGroup,
        { codec, most },
      )
      const slices: number[] = []
      for (let done = false; !done; ) {
        const began = process.threadCpuUsage()
        const next = reading.next()
        const { user, system } = process.threadCpuUsage(began)
        slices.push((user + system) / 1000)
        if (next.done)
          said = typeof next.value === 'string' ? next.value : `${next.value.tokens.length} tokens`
        done = next.done === true
      }
      times.push({ longest: Math.max(...slices), all: slices.reduce((sum, slice) => sum + slice, 0) })
    }
    const told = (read: (time: (typeof times)[number]) => number): string => {
      const sorted = times.map(read).sort((a, b) => a - b)
      return `${sorted[ROUNDS >> 1]!.toFixed(1).padStart(6)} ms (worst ${sorted.at(-1)!.toFixed(1)})`
    }
    console.log(
      `${String(most).padStart(5)} tokens allowed  ${kind.padEnd(34)} at once ${told(({ longest }) => longest)}, in all ${told(({ all }) => all)}  ${said}`,
    )
  }
}
