// Keeps a program that draws for days small: V8 otherwise lets its heap grow to several times what is alive before it
// collects. Drawing makes much garbage and keeps little, so collecting sooner costs next to nothing.

import { setFlagsFromString } from 'node:v8'

export function keepHeapSmall(): void {
  setFlagsFromString('--optimize-for-size')
  // Megabytes for what was just made.
  setFlagsFromString('--max-semi-space-size=2')
}
