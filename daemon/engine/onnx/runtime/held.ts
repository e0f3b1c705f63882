// Arrays that stay on the device between runs. The runtime feeds them to graphs and stores outputs in them. They are
// copied to the host only on request.

import type { Tensor } from 'onnxruntime-node'

/** A place for one float32 tensor. An empty place counts as zeros. */
export class Held {
  /** Number of elements. */
  readonly length: number
  /**
   * Whether it is written again and again, by two tensors in turn. For new tensors of some megabytes a device takes memory
   * each time, which takes longer than to write them.
   */
  readonly alternates: boolean
  private readonly memory: HeldMemory
  private tensor: Tensor | undefined
  private earlier: Tensor | undefined

  constructor({ length, alternates = false }: HeldOptions, memory: HeldMemory) {
    this.length = length
    this.alternates = alternates
    this.memory = memory
  }

  get content(): Tensor | undefined {
    return this.tensor
  }

  /** What the next run can write while it reads the content; undefined if there is nothing yet. */
  get spare(): Tensor | undefined {
    return this.earlier
  }

  /** Stores a tensor that a run returned, in place of the previous one. */
  put(tensor: Tensor): void {
    if (tensor === this.tensor) return
    this.count(1)
    const replaced = this.tensor
    this.tensor = tensor
    if (replaced && this.alternates && !this.earlier) this.earlier = replaced
    else this.free(replaced)
  }

  /** A run has written the spare tensor: it is the content now, and the content is spare. */
  turn(): void {
    ;[this.tensor, this.earlier] = [this.earlier, this.tensor]
  }

  release(): void {
    this.free(this.tensor)
    this.free(this.earlier)
    this.tensor = undefined
    this.earlier = undefined
  }

  private free(tensor: Tensor | undefined): void {
    if (!tensor) return
    tensor.dispose()
    this.count(-1)
  }

  private count(by: 1 | -1): void {
    this.memory.count += by
    this.memory.bytes += by * 4 * this.length
  }
}

export interface HeldOptions {
  length: number
  alternates?: boolean
}

/** Total memory held by all places. */
export interface HeldMemory {
  count: number
  bytes: number
}
