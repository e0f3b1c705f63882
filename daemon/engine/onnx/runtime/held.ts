// Arrays that stay on the device between runs. The runtime feeds them to graphs and stores outputs in them. They are
// copied to the host only on request.

import type { Tensor } from 'onnxruntime-node'

/** A place for one float32 tensor. An empty place counts as zeros. */
export class Held {
  /** Number of elements. */
  readonly length: number
  private readonly memory: HeldMemory
  private tensor: Tensor | undefined

  constructor(length: number, memory: HeldMemory) {
    this.length = length
    this.memory = memory
  }

  get content(): Tensor | undefined {
    return this.tensor
  }

  /** Stores a tensor that a run returned, and frees the previous one. */
  put(tensor: Tensor | undefined): void {
    if (tensor === this.tensor) return
    if (this.tensor) {
      this.tensor.dispose()
      this.memory.count -= 1
      this.memory.bytes -= 4 * this.length
    }
    this.tensor = tensor
    if (tensor) {
      this.memory.count += 1
      this.memory.bytes += 4 * this.length
    }
  }

  release(): void {
    this.put(undefined)
  }
}

/** Total memory held by all places. */
export interface HeldMemory {
  count: number
  bytes: number
}
