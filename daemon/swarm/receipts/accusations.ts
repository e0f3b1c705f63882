// Which accusations this node takes and passes on. Each costs a signature here and a message to each peer, so a peer may
// deliver a few, and an author may make a few. Whether one is true is not looked at here.

import type { Accusation } from '../../../protocol/wire/index.ts'
import { Quota } from '../admission/quota.ts'
import type { Clock } from '../types.ts'

/** A swarm has a forger now and then; whoever found it out says so, and says it again a few times. */
const DELIVERED = { perSecond: 1 / 15, burst: 32 }
const AUTHOR = { perSecond: 1 / 120, burst: 8 }
/** Of all peers together: a tenth of what a swarm of 64 says in groups. */
const ALL = { perSecond: 2, burst: 128 }

export interface AccusationQuota {
  /** Before the signature is checked. `source`: the peer that delivered it. */
  delivered(source: string): boolean
  /** After it. */
  made(by: Pick<Accusation, 'author'>): boolean
}

export function createAccusationQuota(_options: object, parts: { clock: Clock }): AccusationQuota {
  const delivered = new Quota({ rate: DELIVERED }, parts)
  const made = new Quota({ rate: AUTHOR }, parts)
  const all = new Quota({ rate: ALL, keys: 1 }, parts)
  return {
    delivered: (source) => delivered.take(source) && all.take('all'),
    made: ({ author }) => made.take(author),
  }
}
