// The calls that are decoded together: their samples, which of them start next, and their ends.

import type { GenerateCall } from '../core.ts'
import type { DecoderSpec } from '../decoder.ts'
import { checkPrompts } from '../inputs.ts'
import type { Draw } from '../sampling/draw.ts'
import { createEndings } from '../sampling/endings.ts'
import { createWriter, type Labels, type Sequence } from '../sampling/writer.ts'
import type { Member } from './member.ts'
import type { Prompts } from './prompts.ts'
import { DEFAULT_SLOTS, type Demand, type Slots } from './slots.ts'

/** Tokens by which the room of an interactive call grows. */
const GROWTH = 256

const isInteractive = ({ call }: Member): boolean => call.request.isInteractive === true

interface MembersParts {
  spec: DecoderSpec
  labels: Labels
  prompts: Prompts
  slots: Slots
}

export interface Members {
  readonly size: number
  demand(): Demand
  join(call: GenerateCall): void
  /** The call to take the next waiting sample from: interactive ones first, then the one with the fewest running. */
  next(): Member | undefined
  /** Gives the sequence its next token; true if it goes on. Refuses the call if its logits are not finite. */
  accept(member: Member, sequence: Sequence, row: Float32Array | Draw): boolean
  /** False once the call has been answered or refused. */
  has(member: Member): boolean
  /** Handles cuts and aborts, and answers calls whose samples have all ended. */
  takeEnds(): void
}

export function createMembers({ spec, labels, prompts, slots }: MembersParts): Members {
  const members = new Set<Member>()

  /**
   * Tokens that the cache must hold for a call. An interactive one may become long and seldom does, so it gets room as it
   * grows: each step of the batch takes time for all of the room.
   */
  const reachOf = (member: Member): number => {
    if (!isInteractive(member)) return member.longest
    const lengths = [
      ...slots.all.flatMap((slot) => (slot?.member === member ? [slot.position] : [])),
      ...member.waiting.map((sample) => member.promptOf[sample]!.tokens.length),
    ]
    return Math.min(member.longest, GROWTH * Math.ceil((Math.max(0, ...lengths) + 1) / GROWTH))
  }

  /** Removes a call; `tell` sends its answer or its error. */
  const leave = (member: Member, tell: () => void): void => {
    members.delete(member)
    for (const index of slots.live())
      if (slots.all[index]!.member === member) slots.vacate(index, { keeps: false })
    for (const sample of member.waiting) member.promptOf[sample]!.waiting -= 1
    tell()
  }

  const takeEndsOf = (member: Member): void => {
    const { call, endings } = member
    const answer = (): void => leave(member, () => call.answer(endings.results()))
    if (endings.isAborted()) {
      for (const slot of slots.all) if (slot?.member === member) endings.end(slot.sequence)
      answer()
      return
    }
    endings.takeCuts((sample) => {
      const index = slots.all.findIndex((slot) => slot?.member === member && slot.sequence.sample === sample)
      const sequence = slots.all[index]?.sequence
      if (sequence) slots.vacate(index, { keeps: true })
      return sequence
    })
    if (endings.isComplete) answer()
  }

  return {
    get size() {
      return members.size
    },
    demand() {
      const all = [...members]
      const most = Math.max(0, ...all.map(({ call }) => call.request.slots ?? DEFAULT_SLOTS))
      const count = { live: 0, waiting: 0, interactive: 0 }
      for (const slot of slots.all) if (slot) count[isInteractive(slot.member) ? 'interactive' : 'live'] += 1
      for (const member of all)
        count[isInteractive(member) ? 'interactive' : 'waiting'] += member.waiting.length
      const { live, waiting, interactive } = count
      return {
        // Whoever waits for an answer gets a slot besides the others.
        sequences: interactive + Math.max(live, Math.min(most, live + waiting)),
        longest: Math.max(...all.map(reachOf)),
      }
    },
    join(call) {
      const { request, steering } = call
      try {
        const longest = checkPrompts(request, spec)
        const { onToken } = steering
        const write = createWriter(request, { vocabulary: spec.vocabulary, labels, onToken })
        const endings = createEndings(request.samples.length, { write, steering })
        const promptOf = request.samples.map(({ prompt }) => prompts.wait(prompt, request))
        // Samples start in the order of their prompts, so that a prompt's keys and values can be dropped early.
        const rank = new Map([...new Set(promptOf)].map((prompt, i) => [prompt, i]))
        const waiting = promptOf.map((_, sample) => sample)
        waiting.sort((a, b) => rank.get(promptOf[a]!)! - rank.get(promptOf[b]!)! || a - b)
        members.add({ call, endings, write, promptOf, waiting, longest })
      } catch (error) {
        call.refuse(error)
      }
    },
    next() {
      const waiting = [...members].filter((member) => member.waiting.length > 0)
      const first = waiting.find(isInteractive)
      if (first || waiting.length < 2) return first ?? waiting[0]
      const live = new Map<Member, number>()
      for (const slot of slots.all) if (slot) live.set(slot.member, (live.get(slot.member) ?? 0) + 1)
      return waiting.reduce((a, b) => ((live.get(b) ?? 0) < (live.get(a) ?? 0) ? b : a))
    },
    accept(member, sequence, row) {
      try {
        if (!sequence.accept(row)) return true
        member.endings.end(sequence)
      } catch (error) {
        leave(member, () => member.call.refuse(error))
      }
      return false
    },
    has: (member) => members.has(member),
    takeEnds() {
      for (const member of members) takeEndsOf(member)
    },
  }
}
