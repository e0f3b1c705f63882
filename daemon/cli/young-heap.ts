// Keeps the process of a node small while files move through it. Buffers of the network die young, and V8 looks for dead ones
// only when its young generation is full: at 16 MB of small objects, which by then hold on to some 70 MB of such buffers. If it
// stays at the 1 MB that it begins with, a transfer takes 10 to 20 MB. Neither that nor sampling or training became slower by
// it (scripts/bench/swarm-bulk.ts, scripts/bench/engine).

import { setFlagsFromString } from 'node:v8'

/** Call before anything large is loaded: what has grown does not shrink again. */
export function keepYoungHeapSmall(): void {
  setFlagsFromString('--semi-space-growth-factor=1')
}
