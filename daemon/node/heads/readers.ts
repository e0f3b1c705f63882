// Whether anybody learns from this node's groups. A peer that averages weights with it does not: the weights have what the
// groups taught.

/** One group in so many goes out all the same, so that peers see who writes, and a copied identity is noticed. */
const SIGN_OF_LIFE = 16

export interface ReadersParts {
  /** Those that are connected. */
  peers(): readonly string[]
  /** This node averages the peer's weights, or soon does. */
  isAveraged(peer: string): boolean
  /** The peer fetches this node's, or soon does. */
  isTaking(peer: string): boolean
}

/** Call it with each group that may be sent: true if it is of use to somebody. */
export function createReaders({ peers, isAveraged, isTaking }: ReadersParts): () => boolean {
  let kept = 0
  return () => {
    const all = peers()
    const hasReader = all.length === 0 || all.some((peer) => !isAveraged(peer) || !isTaking(peer))
    return hasReader || ++kept % SIGN_OF_LIFE === 0
  }
}
