import type { Vector } from '../vector.ts'

/** Where this node stands. */
export interface Own {
  weights: Vector
  /** Its weights after the last exchange. What it did since then is the difference. */
  start: Vector
}

export interface PeerHead {
  author: string
  weights: Vector
  /** The peer's weights after its last exchange, for rules that ask for what a peer did itself. */
  start?: Vector
  /** This node's own weights when the head was made. */
  beside: Vector
  /** How many exchanges of this node ago the head was made; 0 for the present one. */
  age: number
}

export interface JoinRule {
  /** The weights that this node goes on with. No argument is changed. */
  join(own: Own, heads: readonly PeerHead[]): Vector
}
