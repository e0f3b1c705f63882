// Limits inbound connections that have not finished their handshake, since opening them is free. Above the limit, the
// address range with the most of them loses its oldest, so nobody is locked out; a real handshake takes a few round
// trips.

import type { MultiaddrConnection } from '@libp2p/interface'
import { addressRange, firstOfLargest } from '../addresses/address-range.ts'

export const MAX_HANDSHAKES = 64

type Pending = Pick<MultiaddrConnection, 'remoteAddr' | 'abort' | 'addEventListener'>

export class Handshakes {
  private readonly limit: number
  /** Oldest first. */
  private readonly pending = new Map<Pending, string>()

  constructor({ limit = MAX_HANDSHAKES }: { limit?: number } = {}) {
    this.limit = limit
  }

  get count(): number {
    return this.pending.size
  }

  begin(connection: Pending): void {
    this.pending.set(connection, addressRange(connection.remoteAddr))
    connection.addEventListener('close', () => this.pending.delete(connection))
    while (this.pending.size > this.limit) {
      const [out] = firstOfLargest([...this.pending], ([, range]) => range)!
      this.pending.delete(out)
      out.abort(new Error('too many connections wait for their handshake'))
    }
  }

  /** The peer has proved its identity. */
  done(connection: Pending): void {
    this.pending.delete(connection)
  }
}
