// What an answer may be: an automaton over the bytes of its text, as tables that can be sent to an engine's thread.
// `daemon/agents/grammar` makes them.

export interface Grammar {
  /** Equal grammars have equal keys. */
  readonly key: string
  readonly start: number
  /** The moves of state s are those from edgeAt[s] up to edgeAt[s + 1]. */
  readonly edgeAt: Int32Array
  /**
   * Three numbers each. [low, high, to]: reads a byte in this range. [EMPTY, 0, to]: reads nothing. [CALL, start, to]:
   * goes on at `start`, and at `to` once a final state is reached.
   */
  readonly edges: Int32Array
  /** 1 for states where a call, or the answer, may end. */
  readonly final: Uint8Array
}

export const EMPTY = -1
export const CALL = -2

/** The bytes of each token's text, one after another; token t ends before ends[t]. Special tokens have none. */
export interface TokenBytes {
  readonly bytes: Uint8Array
  readonly ends: Int32Array
}
