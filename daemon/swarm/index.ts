// The swarm as the rest of the daemon sees it. Nothing else in this folder is for others.
//
//   const identity = await loadIdentity({ path })
//   const swarm = await createSwarm(options, { identity, clock, random, log, tasks, codec, version, onEvent })
//   await swarm.start()        onEvent({ type: 'group', group }) brings verified foreign groups
//   await swarm.publish(draftOf(group))

export { decodeInvite, draftOf, type GroupDraft, type Invite, isInvite } from '../../protocol/wire/index.ts'
export { publicAddresses } from './address-order.ts'
export type { BulkFetched, BulkFetchOptions } from './bulk-fetch.ts'
export type { Offer } from './bulk-offer.ts'
export type { Published, Swarm, SwarmCollaborators, SwarmCounters, SwarmOptions } from './contract.ts'
export { openPeerDatastore } from './datastore.ts'
export { type Identity, loadIdentity } from './identity.ts'
export type { JoinOutcome, JoinProgress } from './join.ts'
export { type OpenedSwarm, type OpenSwarmOptions, openSwarm } from './open.ts'
export type { PeerView } from './peers.ts'
export { formatPsk, makePsk, parsePsk } from './psk.ts'
export { REASONS, type Reason } from './reasons.ts'
export { createSwarm } from './swarm.ts'
export type { Clock, Codec, Log, PluginStates, SwarmEvent, TaskSource } from './types.ts'
