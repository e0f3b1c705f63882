// Continuous batching: the sequences of all calls are decoded side by side. A new call joins between two steps, a
// sequence that ends frees its slot for a waiting one, and the batch grows and shrinks with the number of sequences.
//
// Each sequence has its own random numbers (`random.ts`), so what it writes does not depend on the others, apart from
// rounding, which differs with the number of rows in a matmul.

import type { Decoding } from '../core.ts'
import type { DecoderSpec } from '../decoder.ts'
import type { Labels } from '../sampling/writer.ts'
import { createMembers, type Members } from './members.ts'
import { createPrompts, type Prompt, type Prompts } from './prompts.ts'
import type { CacheSize, ReadPrompt, SequenceCache } from './sequence-cache.ts'
import { createSlots, type Slots } from './slots.ts'

interface DecodingParts {
  spec: DecoderSpec
  /** Most prompt tokens read side by side, padding included. A single prompt may have more. */
  readAtOnce: number
  createCache(size: CacheSize): SequenceCache
  /** Read for each token, because the weights may change. */
  labels: Labels
}

export async function decode({ newCalls, takeWeights }: Decoding, parts: DecodingParts): Promise<void> {
  const prompts = createPrompts(parts)
  const slots = createSlots(parts)
  const members = createMembers({ ...parts, prompts, slots })
  try {
    for (;;) {
      if (await takeWeights?.()) {
        slots.mix()
        prompts.forget()
      }
      for (const call of newCalls()) members.join(call)
      members.takeEnds()
      if (members.size === 0) break
      await slots.fit(members.demand())
      await refill({ members, prompts, slots })
      prompts.drop()
      if (slots.live().length > 0) await step({ members, slots })
    }
  } finally {
    prompts.close()
    slots.close()
  }
}

/** Fills free slots with waiting samples. A sequence may end with its first token, so a slot may be tried again. */
async function refill({
  members,
  prompts,
  slots,
}: {
  members: Members
  prompts: Prompts
  slots: Slots
}): Promise<void> {
  const entries: { slot: number; prompt: ReadPrompt; from: Prompt }[] = []
  for (let index = 0; index < slots.all.length; index++) {
    while (slots.all[index] === undefined) {
      // Reading takes long, and programs hang up meanwhile.
      members.takeEnds()
      const member = members.next()
      if (!member) break
      const sample = member.waiting[0]!
      const from = member.promptOf[sample]!
      if (!member.endings.has(sample)) {
        const prompt = await prompts.read(from, slots.cache, members.takeEnds)
        if (!prompt || !members.has(member)) continue
        const sequence = member.endings.has(sample) ? undefined : member.write(sample, prompt.reused)
        if (sequence && members.accept(member, sequence, prompt.logits)) {
          entries.push({ slot: index, prompt, from })
          slots.put(index, { member, sequence, position: prompt.length })
        }
      }
      if (!members.has(member)) continue
      member.waiting.shift()
      from.waiting -= 1
    }
  }
  const loaded = entries.filter(({ slot }) => slots.all[slot])
  await slots.load(loaded.map(({ slot, prompt, from: { waiting } }) => ({ slot, prompt, waiting })))
}

/** Draws the next token of each sequence. */
async function step({ members, slots }: { members: Members; slots: Slots }): Promise<void> {
  const rowOf = await slots.decode()
  for (const [index, slot] of slots.all.entries()) {
    // If a call was refused in this step, its sequences have already left their slots.
    if (!slot || slots.all[index] !== slot) continue
    slot.position += 1
    if (!members.accept(slot.member, slot.sequence, rowOf(index)) && slots.all[index] === slot)
      slots.vacate(index, { keeps: true })
  }
}
