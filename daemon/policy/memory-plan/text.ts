// A memory plan in words, for `waggle doctor` and for the daemon's log.

import { bytes } from '../../../protocol/api/index.ts'
import type { MemoryPlan } from './choose.ts'

const BASES = {
  file: 'as the file has them',
  f16: 'of 16 bits',
  q8: 'of 8 bits',
  q4: 'of 4 bits',
}

export function planText({
  adapter,
  microBatchTokens,
  checkpointing,
  base,
  slots,
  estimate,
  budget,
  conversation,
}: MemoryPlan): string {
  const { total, ...parts } = estimate
  const on = base === 'f32' ? '' : ` on frozen weights ${BASES[base]}`
  const how = adapter ? `LoRA of rank ${adapter.rank}${on}` : 'all parameters'
  const list = Object.entries(parts).map(([part, size]) => `${part} ${bytes(size)}`)
  return `training ${how}, ${microBatchTokens} tokens at once${checkpointing ? ' with activations computed twice' : ''}, ${slots} sequences side by side${conversation ? `, ${conversationText(conversation)}` : ''}: about ${bytes(total)} of ${bytes(budget)} (${list.join(', ')})`
}

/** How long conversations with agents may be. */
function conversationText({ limit, context }: NonNullable<MemoryPlan['conversation']>): string {
  return `conversations of up to ${limit} tokens${limit < context ? ` of the model's ${context}` : ', the whole context'}`
}
