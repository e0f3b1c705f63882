// The pool and the peers, as parts of a snapshot.

export interface RolloutInfo {
  pool: { own: number; foreign: number }
  /** This node's own groups, in the model's whole life. */
  generated: number
  published: number
  /** Of peers, since this process started; so are `verified` and `refused`. */
  received: number
  verified: number
  /**
   * Groups that the model has been trained on in its whole life, and the number of peers that wrote the foreign ones (at
   * most 1024 are told apart). The counts belong to the weights: they continue after a restart, and a roll-back takes
   * them back. A group that is used twice counts twice.
   */
  trainedOwn: number
  trainedForeign: number
  trainedPeers?: number
  /** The same for the last hour. */
  trainedLastHour?: { own: number; foreign: number; peers: number }
  /** Foreign groups refused or dropped, by reason. The reasons are a small fixed set of words. */
  refused: Record<string, number>
  /** Foreign completions left out because this node's tokenizer cannot represent them. */
  droppedTexts?: number
  /** Share of recent own groups with a signal, that is, with different rewards. */
  signalShare?: number
  allRightShare?: number
  allWrongShare?: number
}

export interface SwarmInfo {
  enabled: boolean
  /** Name of the swarm or of its topic. */
  name?: string
  /** Only an invite lets others join. */
  isPrivate?: true
  /** Multiaddrs that others can dial, peer ID included. */
  addresses: string[]
  connected: number
  /** The node has left: it is connected to nobody, and shares nothing, until it joins again. */
  hasLeft?: boolean
  known?: number
  /** At most 64, connected ones first. */
  peers: PeerInfo[]
  bytesIn?: number
  bytesOut?: number
  reachability?: string
}

export interface PeerInfo {
  id: string
  name: string
  /** `seen`: found on the local network, but never joined or connected. */
  state: 'mesh' | 'up' | 'down' | 'muted' | 'seen'
  /** How it is connected: directly, by relay or by WebRTC. A direct connection may also say how it was found. */
  how?: 'direct' | 'relay' | 'webrtc' | 'mdns' | 'dht'
  address?: string
  agent?: string
  rttMs?: number
  /** When the last data from it arrived. */
  lastSeen?: number
  version?: number
  /** Same tokenizer, so its token IDs and log-probs can be used. */
  sameTokenizer?: boolean
  received: number
  verified: number
  trained: number
  refused: number
  /** By reason; a small fixed set of words. */
  refusedWhy?: Record<string, number>
  /** Gossip and streams, since this node started. */
  bytesIn?: number
  bytesOut?: number
  score?: number
  /** Mean reward, recomputed by this node. */
  reward?: number
}
