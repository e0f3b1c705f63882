// Checks the target of `waggle join` as the node will, before one is started for it.

import { parseTarget } from '../../swarm/join/target.ts'
import { isInvite } from '../daemon/join-target.ts'

/** Throws E_PEER. Invites, and whether an ID is the node's own, are left to the node. */
export function checkTarget(target: string): void {
  if (!isInvite(target)) parseTarget(target, { self: '' })
}
