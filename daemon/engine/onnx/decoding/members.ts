// The calls that are decoded together: their samples, which of them start next, and their ends.

import type { GenerateCall } from '../../core.ts'
import type { DecoderSpec } from '../../decoder.ts'
import { checkPrompts } from '../../inputs.ts'
import { createEndings } from '../../sampling/endings.ts'
import type { Sequence, Writer } from '../../sampling/writer.ts'
import { DEFAULT_SLOTS } from '../runtime/room.ts'
import type { Member } from './member.ts'
import type { Prompts } from './prompts.ts'
import type { Demand, Slots } from './slots.ts'

export interface MembersParts {
  spec: DecoderSpec
  writerOf(call: GenerateCall): Writer
  prompts: Prompts
  slots: Slots
}

export interface Members {
  readonly size: number
  demand(): Demand
  join(call: GenerateCall): void
  /** The call to take the next waiting sample from: the one with the fewest running sequences. */
  next(): Member | undefined
  /** Gives the sequence its next token; true if it goes on. Refuses the call if its logits are not finite. */
  accept(member: Member, sequence: Sequence, logits: Float32Array): boolean
  /** Handles cuts and aborts, and answers calls whose samples have all ended. */
  takeEnds(): void
}

export function createMembers({ spec, writerOf, prompts, slots }: MembersParts): Members {
  const members = new Set<Member>()

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
      const waiting = all.reduce((sum, member) => sum + member.waiting.length, 0)
      const live = slots.live().length
      return {
        sequences: Math.max(live, Math.min(most, live + waiting)),
        longest: Math.max(...all.map((member) => member.longest)),
      }
    },
    join(call) {
      const { request, steering } = call
      try {
        const longest = checkPrompts(request, spec)
        const write = writerOf(call)
        const endings = createEndings(request.samples.length, { write, steering })
        const promptOf = request.samples.map(({ prompt }) => prompts.wait(prompt, request.isConversation))
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
      if (waiting.length < 2) return waiting[0]
      const live = new Map<Member, number>()
      for (const slot of slots.all) if (slot) live.set(slot.member, (live.get(slot.member) ?? 0) + 1)
      return waiting.reduce((a, b) => ((live.get(b) ?? 0) < (live.get(a) ?? 0) ? b : a))
    },
    accept(member, sequence, logits) {
      try {
        if (!sequence.accept(logits)) return true
        member.endings.end(sequence)
      } catch (error) {
        leave(member, () => member.call.refuse(error))
      }
      return false
    },
    takeEnds() {
      for (const member of members) takeEndsOf(member)
    },
  }
}
