// The swarm as the rest of the daemon sees it. Other folders import nothing else from this one.
//
//   const identity = await loadIdentity({ path })
//   const swarm = await createSwarm(options, { identity, clock, random, log, tasks, codec, version, onGroup, onEvent })
//   await swarm.start()        onGroup(group) brings verified foreign groups
//   await swarm.publish(draftOf(group))

export { decodeInvite, draftOf, type GroupDraft, type Invite, isInvite } from '../../protocol/wire/index.ts'
export { publicAddresses } from './addresses/address-order.ts'
export { REASONS, type Reason } from './admission/reasons.ts'
export type { Published, Swarm, SwarmCounters, SwarmOptions, SwarmParts } from './contract.ts'
export type { BulkFetched, BulkFetchOptions } from './fetch/bulk-fetch.ts'
export type { Offer } from './fetch/bulk-offer.ts'
export type { JoinOutcome, JoinProgress } from './join/join.ts'
export { formatPsk, makePsk, parsePsk } from './join/psk.ts'
export { openPeerDatastore, type PeerDatastore } from './libp2p/datastore.ts'
export { type OpenedSwarm, type OpenSwarmOptions, openSwarm } from './open.ts'
export { type Identity, loadIdentity } from './peers/identity.ts'
export type { PeerView } from './peers/peers.ts'
export { createSwarm } from './swarm.ts'
export type { Clock, Codec, Log, PluginStates, SwarmEvent, TaskSource } from './types.ts'
