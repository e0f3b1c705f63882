// Keeps the heap small in a program that draws for days: V8 would otherwise let it grow to several times the
// live data before collecting. Drawing creates much garbage and keeps little, so collecting earlier costs
// almost nothing.

import { setFlagsFromString } from 'node:v8'

export function keepHeapSmall(): void {
  setFlagsFromString('--optimize-for-size')
  // Megabytes for the young generation.
  setFlagsFromString('--max-semi-space-size=2')
}
