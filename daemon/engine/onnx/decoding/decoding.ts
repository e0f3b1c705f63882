// Continuous batching: the sequences of all calls are decoded side by side. A new call joins between two steps, a
// sequence that ends frees its slot for a waiting one, and the batch grows and shrinks with the number of sequences.
// Each distinct prompt is read once for all sequences that start from it, such as those of a group.
//
// Each sequence has its own random numbers (`random.ts`), so what it writes does not depend on the others, apart from
// rounding, which differs with the number of rows in a matmul.

import type { Decoding, GenerateCall } from '../../core.ts'
import type { DecoderSpec } from '../../decoder.ts'
import { checkPrompts } from '../../inputs.ts'
import { createEndings, type Endings } from '../../sampling/endings.ts'
import type { Sequence, Writer } from '../../sampling/writer.ts'
import { DEFAULT_SLOTS } from '../runtime/room.ts'
import type { CacheSize, PromptTokens, ReadPrompt, SequenceCache } from './sequence-cache.ts'

/** Most prompts read side by side. */
const PROMPTS_AT_ONCE = 16
/** Prompts that are kept although no sample waits for them: the next call of a group may have the same prompt. */
const KEPT_PROMPTS = 8
/** The cache shrinks only after this many steps in which a smaller one would do: more sequences may come soon. */
const PATIENCE = 4

interface Prompt extends PromptTokens {
  /** Samples of this prompt that have not started. */
  waiting: number
  read?: ReadPrompt
}

/** A call under way. */
interface Member {
  call: GenerateCall
  endings: Endings
  write: Writer
  promptOf: readonly Prompt[]
  /** Samples that have not started. */
  waiting: number[]
  /** Most tokens that any of its sequences may reach, prompt included. */
  longest: number
}

interface Slot {
  member: Member
  sequence: Sequence
  position: number
  /** The weights have changed since the sequence began. */
  isMixed?: boolean
}

export interface DecodingParts {
  spec: DecoderSpec
  /** Most prompt tokens read side by side, padding included. A single prompt may have more. */
  readAtOnce: number
  createCache(size: CacheSize): SequenceCache
  writerOf(call: GenerateCall): Writer
}

export async function decode(
  { newCalls, takeWeights }: Decoding,
  { spec, readAtOnce, createCache, writerOf }: DecodingParts,
): Promise<void> {
  const { vocabulary } = spec
  const members = new Set<Member>()
  const prompts = new Map<string, Prompt>()
  let slots: (Slot | undefined)[] = []
  let cache: SequenceCache | undefined
  let spareSteps = 0

  /** Counts one more sample that waits for the prompt with these tokens. Other samples may wait for the same prompt. */
  const wait = (tokens: Int32Array, isConversation = false): Prompt => {
    const key = Buffer.from(tokens.buffer, tokens.byteOffset, tokens.byteLength).toString('base64')
    const known: Prompt = prompts.get(key) ?? { tokens, waiting: 0 }
    known.waiting += 1
    known.isConversation ||= isConversation
    // Keep the latest prompt at the end.
    prompts.delete(key)
    prompts.set(key, known)
    return known
  }

  const join = (call: GenerateCall): void => {
    const { request, steering } = call
    try {
      const longest = checkPrompts(request, spec)
      const write = writerOf(call)
      const endings = createEndings(request.samples.length, { write, steering })
      const promptOf = request.samples.map(({ prompt }) => wait(prompt, request.isConversation))
      // Samples start in the order of their prompts, so that a prompt's keys and values can be dropped early.
      const rank = new Map([...new Set(promptOf)].map((prompt, i) => [prompt, i]))
      const waiting = promptOf.map((_, sample) => sample)
      waiting.sort((a, b) => rank.get(promptOf[a]!)! - rank.get(promptOf[b]!)! || a - b)
      members.add({ call, endings, write, promptOf, waiting, longest })
    } catch (error) {
      call.refuse(error)
    }
  }

  /** Called when the weights have changed: prompts that are still needed will be read again. */
  const forget = (): void => {
    for (const slot of slots) if (slot) slot.isMixed = true
    for (const prompt of prompts.values()) {
      prompt.read?.release()
      delete prompt.read
    }
  }

  /** Drops prompts that no sample waits for, except the latest ones. */
  const dropPrompts = (): void => {
    const unused = [...prompts].filter(([, { waiting }]) => waiting === 0)
    for (const [key, prompt] of unused.slice(0, Math.max(0, unused.length - KEPT_PROMPTS))) {
      prompt.read?.release()
      prompts.delete(key)
    }
  }

  /** Frees a slot. If its conversation may continue, keeps its keys and values, unless the weights have changed. */
  const vacate = (index: number): void => {
    const { member, sequence, position, isMixed } = slots[index]!
    if (member.call.request.isConversation && !isMixed && members.has(member)) {
      const { tokens } = member.promptOf[sequence.sample]!
      const held = new Int32Array(position)
      held.set(tokens)
      held.set(sequence.finish().tokens.subarray(0, position - tokens.length), tokens.length)
      cache!.keep?.(index, held)
    }
    slots[index] = undefined
    cache!.clear(index)
  }

  /** Removes a call; `tell` sends its answer or its error. */
  const leave = (member: Member, tell: () => void): void => {
    members.delete(member)
    slots.forEach((slot, index) => {
      if (slot?.member === member) vacate(index)
    })
    for (const sample of member.waiting) member.promptOf[sample]!.waiting -= 1
    tell()
  }

  /** Handles cuts and aborts, and answers calls whose samples have all ended. */
  const takeEnds = (): void => {
    for (const member of members) {
      const { call, endings } = member
      if (endings.isAborted()) {
        for (const slot of slots) if (slot?.member === member) endings.end(slot.sequence)
        leave(member, () => call.answer(endings.results()))
        continue
      }
      endings.takeCuts((sample) => {
        const index = slots.findIndex((slot) => slot?.member === member && slot.sequence.sample === sample)
        const sequence = slots[index]?.sequence
        if (sequence) vacate(index)
        return sequence
      })
      if (endings.isComplete) leave(member, () => call.answer(endings.results()))
    }
  }

  /** Gives the sequence its next token; true if it goes on. Refuses the call if its logits are not finite. */
  const accept = (member: Member, sequence: Sequence, logits: Float32Array): boolean => {
    try {
      if (!sequence.accept(logits)) return true
      member.endings.end(sequence)
    } catch (error) {
      leave(member, () => member.call.refuse(error))
    }
    return false
  }

  const liveSlots = (): number[] => slots.flatMap((slot, index) => (slot ? [index] : []))

  /** Fits the cache to all running and waiting sequences, with at most as many slots as the calls allow. */
  const resize = async (): Promise<void> => {
    const [live, all] = [liveSlots(), [...members]]
    const most = Math.max(0, ...all.map(({ call }) => call.request.slots ?? DEFAULT_SLOTS))
    const waiting = all.reduce((sum, member) => sum + member.waiting.length, 0)
    const wanted = batchFor(Math.max(live.length, Math.min(most, live.length + waiting)))
    const longest = Math.max(...all.map((member) => member.longest))
    if (!cache) {
      cache = createCache({ slots: wanted, capacity: longest })
      slots = new Array(wanted).fill(undefined)
      return
    }
    const isSmall = wanted > cache.slots || longest > cache.capacity
    const isLarge = wanted <= cache.slots / 2 || longest <= cache.capacity / 2
    spareSteps = isLarge ? spareSteps + 1 : 0
    if (!isSmall && spareSteps < PATIENCE) return
    const size = {
      slots: isSmall ? Math.max(wanted, cache.slots) : wanted,
      capacity: isSmall ? Math.max(longest, cache.capacity) : longest,
    }
    await cache.resize(live, size)
    slots = Array.from({ length: size.slots }, (_, i) => slots[live[i] ?? -1])
    spareSteps = 0
  }

  const read = async (prompt: Prompt): Promise<ReadPrompt> => {
    if (!prompt.read) {
      const batch = [prompt]
      let longest = prompt.tokens.length
      for (const one of prompts.values()) {
        if (one === prompt || one.waiting === 0 || one.read) continue
        const length = Math.max(longest, one.tokens.length)
        if (batch.length === PROMPTS_AT_ONCE || (batch.length + 1) * length > readAtOnce) break
        batch.push(one)
        longest = length
      }
      const done = await cache!.read(batch)
      batch.forEach((one, i) => {
        one.read = done[i]!
      })
    }
    return prompt.read!
  }

  /** The call to take the next waiting sample from: the one with the fewest running sequences. */
  const nextMember = (): Member | undefined => {
    const waiting = [...members].filter((member) => member.waiting.length > 0)
    if (waiting.length < 2) return waiting[0]
    const live = new Map<Member, number>()
    for (const slot of slots) if (slot) live.set(slot.member, (live.get(slot.member) ?? 0) + 1)
    return waiting.reduce((a, b) => ((live.get(b) ?? 0) < (live.get(a) ?? 0) ? b : a))
  }

  /** Fills free slots with waiting samples. A sequence may end with its first token, so a slot may be tried again. */
  const refill = async (): Promise<void> => {
    const entries: { slot: number; prompt: ReadPrompt }[] = []
    for (let index = 0; index < slots.length; index++) {
      while (slots[index] === undefined) {
        const member = nextMember()
        if (!member) break
        const sample = member.waiting.shift()!
        if (!member.endings.has(sample)) {
          const prompt = await read(member.promptOf[sample]!)
          const sequence = member.write(sample, prompt.reused)
          if (accept(member, sequence, prompt.logits)) {
            entries.push({ slot: index, prompt })
            slots[index] = { member, sequence, position: prompt.length }
          }
        }
        member.promptOf[sample]!.waiting -= 1
      }
    }
    const loaded = entries.filter(({ slot }) => slots[slot])
    if (loaded.length > 0) await cache!.load(loaded)
  }

  try {
    for (;;) {
      if (await takeWeights?.()) forget()
      for (const call of newCalls()) join(call)
      takeEnds()
      if (members.size === 0) break
      await resize()
      await refill()
      dropPrompts()
      if (liveSlots().length === 0) continue

      const tokens = Int32Array.from(slots, (slot) => slot?.sequence.last ?? 0)
      const positions = Int32Array.from(slots, (slot) => slot?.position ?? -1)
      const logits = await cache!.decode(tokens, positions)
      for (const [index, slot] of slots.entries()) {
        // If a call was refused in this step, its sequences have already left their slots.
        if (!slot || slots[index] !== slot) continue
        slot.position += 1
        const row = logits.subarray(index * vocabulary, (index + 1) * vocabulary)
        if (!accept(slot.member, slot.sequence, row) && slots[index] === slot) vacate(index)
      }
    }
  } finally {
    for (const prompt of prompts.values()) prompt.read?.release()
    cache?.close()
  }
}

/** Batch sizes are powers of two up to 8, then multiples of 8, so that few different sizes occur. */
function batchFor(sequences: number): number {
  return sequences > 8 ? 8 * Math.ceil(sequences / 8) : 2 ** Math.ceil(Math.log2(Math.max(1, sequences)))
}
