// Arrays that stay on the device between runs. The runtime feeds them to graphs and stores outputs in them. They are
// copied to the host only on request.

import type { Tensor } from 'onnxruntime-node'

/** Changes of all places together. */
let changes = 0

/** A place for one float32 tensor. An empty place counts as zeros. */
export class Held {
  /** Number of elements. */
  readonly length: number
  /** Whether the tensor before the last one is kept, to be written next. */
  readonly alternates: boolean
  /** Another one for each content, of all places. */
  version = 0
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

  /** What can be written while the content is read. */
  get spare(): Tensor | undefined {
    return this.earlier
  }

  /** Stores a tensor that a run returned, and frees the one that it replaces. */
  put(tensor: Tensor | undefined): void {
    if (tensor === this.tensor) return
    this.count(this.tensor, -1)
    this.tensor?.dispose()
    this.tensor = tensor
    this.count(tensor, 1)
    this.version = ++changes
  }

  /** Takes a tensor as the spare one. */
  provide(spare: Tensor): void {
    this.count(spare, 1)
    this.earlier = spare
  }

  /** A run has written the spare tensor: it becomes the content, and the content the spare one. */
  turn(): void {
    ;[this.tensor, this.earlier] = [this.earlier, this.tensor]
    this.version = ++changes
  }

  /** Gives the content away. */
  take(): Tensor | undefined {
    const taken = this.tensor
    this.count(taken, -1)
    this.tensor = undefined
    return taken
  }

  release(): void {
    this.put(undefined)
    this.count(this.earlier, -1)
    this.earlier?.dispose()
    this.earlier = undefined
  }

  private count(tensor: Tensor | undefined, by: 1 | -1): void {
    if (!tensor) return
    this.memory.count += by
    this.memory.bytes += by * 4 * this.length
  }
}

export interface HeldOptions {
  length: number
  /**
   * Written again and again. A device frees and takes memory for each new tensor, which takes longer than to write it,
   * so two take turns.
   */
  alternates?: boolean
}

/** Total memory held by all places. */
export interface HeldMemory {
  count: number
  bytes: number
}
