// A home router that forwards ports, by any protocol.

export interface Forwarding {
  internalIp: string
  internalPort: number
  /** The requested port. */
  externalPort: number
}

export interface Gateway {
  /** The router's external address. */
  externalIp(signal: AbortSignal): Promise<string>
  /**
   * Creates or renews a forwarding. Resolves with the external port. If the requested port is taken and the router does
   * not choose another, `nextPort` proposes ports to try.
   */
  forward(
    forwarding: Forwarding,
    options: { leaseSeconds: number; nextPort(): number; signal: AbortSignal },
  ): Promise<number>
  remove(externalPort: number, signal: AbortSignal): Promise<void>
}
