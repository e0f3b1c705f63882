// Arrays that stay where the device keeps them between runs. The runtime feeds them to graphs and puts outputs into
// them; what is in them is only copied to the host when it is asked for.

import type { Tensor } from 'onnxruntime-node'

/** A place for one float32 tensor. Empty, it counts as zeros. */
export class Held {
  /** Elements. */
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

  /** Takes over a tensor that a run gave; what was there before is freed. */
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

/** What is held at the moment, all places together. */
export interface HeldMemory {
  count: number
  bytes: number
}
