// A home router that forwards ports, by whatever protocol.

export interface Forwarding {
  internalIp: string
  internalPort: number
  /** Asked for. */
  externalPort: number
}

export interface Gateway {
  /** The router's address on its other side. */
  externalIp(signal: AbortSignal): Promise<string>
  /**
   * Also renews. Resolves with the outside port. If the router leaves it to us to find another because the one asked for is
   * taken, `nextPort` proposes some.
   */
  forward(
    forwarding: Forwarding,
    options: { leaseSeconds: number; nextPort(): number; signal: AbortSignal },
  ): Promise<number>
  remove(externalPort: number, signal: AbortSignal): Promise<void>
}
