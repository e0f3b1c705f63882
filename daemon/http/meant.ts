// Which settings let other machines in, and what a node needs for it.

import { WaggleError } from '../../protocol/errors.ts'
import { isLoopback } from './listen.ts'

/** Where a node listens, as in the config. */
export interface Door {
  /** host:port */
  listen: string
  /** Allow addresses that other machines can reach. Undefined if nothing allows them. */
  public?: boolean | undefined
}

const OPEN: Readonly<Record<'control' | 'serve' | 'agents', { risk?: string; hint: string }>> = {
  control: {
    risk: ' and is not encrypted',
    hint: 'Use 127.0.0.1 and connect over ssh (`waggle top --on ssh://host`), or set control.public = true if you trust the network.',
  },
  serve: {
    hint: 'Use 127.0.0.1 behind a proxy with TLS, or set serve.public = true: keys and answers then go unencrypted.',
  },
  agents: { hint: 'Use 127.0.0.1; agents on other machines can come through ssh (`ssh -L`).' },
}

/** Throws E_PORT for an address that other machines can reach, unless the section's `public` is set. */
export function requireMeant(section: keyof typeof OPEN, { listen, public: isPublic = false }: Door): void {
  if (isLoopback(listen) || isPublic) return
  const { risk = '', hint } = OPEN[section]
  throw new WaggleError('E_PORT', `${section}.listen = "${listen}" can be reached by other machines${risk}`, {
    hint,
  })
}
