// A memory plan in words, for `waggle doctor` and for the daemon's log.

import { bytes } from '../../../protocol/api/index.ts'
import type { MemoryPlan } from './choose.ts'

export function planText({
  adapter,
  microBatchTokens,
  checkpointing,
  slots,
  estimate,
  budget,
}: MemoryPlan): string {
  const { total, ...parts } = estimate
  const how = adapter ? `LoRA of rank ${adapter.rank}` : 'all parameters'
  const list = Object.entries(parts).map(([part, size]) => `${part} ${bytes(size)}`)
  return `training ${how}, ${microBatchTokens} tokens at once${checkpointing ? ' with activations computed twice' : ''}, ${slots} sequences side by side: about ${bytes(total)} of ${bytes(budget)} (${list.join(', ')})`
}
