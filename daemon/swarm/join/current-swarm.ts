// A swarm that can be replaced while the node runs. Accepting an invite to another swarm closes the current one, saves
// the new membership, and opens the new one. Leaving returns to the swarm of the config. Callers use it like any other
// swarm.

import { WaggleError } from '../../../protocol/errors.ts'
import { decodeInvite, type Invite, isInvite } from '../../../protocol/wire/index.ts'
import type { Swarm } from '../contract.ts'
import type { Membership } from './membership.ts'

interface CurrentSwarmOptions {
  /** What the config sets; no invite overrides it. */
  fixed: { name?: string; key: boolean; private: boolean }
}

export interface Opened {
  swarm: Swarm
  psk: Uint8Array | undefined
  /** The membership as stored on disk. */
  membership: Membership | undefined
}

interface CurrentSwarmParts {
  /**
   * Opens and starts the swarm of this membership, or that of the config if undefined. If the config asks for a private
   * swarm without a key, creates and stores a key. Rejects if the swarm cannot be opened.
   */
  open(membership: Membership | undefined): Promise<Opened>
  load(): Promise<Membership | undefined>
  save(membership: Membership): Promise<void>
  remove(): Promise<void>
}

/** Resolves once the swarm has started. `invite` is accepted first, so that no other swarm is contacted. */
export async function openCurrentSwarm(
  { fixed, invite }: CurrentSwarmOptions & { invite?: string | undefined },
  parts: CurrentSwarmParts,
): Promise<Swarm> {
  let membership = await parts.load()
  if (invite !== undefined) {
    const asked = decodeInvite(invite)
    if (membership !== undefined && !fits(asked, membership.swarm, membership.psk))
      throw elsewhere(asked, membership.swarm)
    if (membership === undefined) {
      checkFixed(asked, fixed)
      // If the key comes from the config, it need not be stored as well.
      if (!fixed.key) membership = await keep(asked, parts)
    }
  }
  let current = await parts.open(membership)
  let swap: Promise<unknown> = Promise.resolve()
  /** The node has left and not joined again. If the config's swarm is private, it now has a new key of its own. */
  let isFree = false

  const write = (next: Membership | undefined) => (next === undefined ? parts.remove() : parts.save(next))
  /** Changes run one at a time. If the new swarm cannot be opened, nothing changes. */
  const change = (next: Membership | undefined): Promise<void> => {
    const changing = swap.then(async () => {
      const before = current.membership
      await current.swarm.leave()
      await current.swarm.stop()
      try {
        await write(next)
        current = await parts.open(next)
      } catch (error) {
        await write(before)
        current = await parts.open(before)
        throw error
      }
    })
    swap = changing.catch(() => {})
    return changing
  }

  return {
    get peerId() {
      return current.swarm.peerId
    },
    get name() {
      return current.swarm.name
    },
    get isPrivate() {
      return current.swarm.isPrivate
    },
    // Already started.
    start: async () => {},
    async stop() {
      await swap
      await current.swarm.stop()
    },
    async join(target, options) {
      await swap
      if (isInvite(target)) {
        const asked = decodeInvite(target)
        if (!fits(asked, current.swarm.name, current.psk)) {
          checkFixed(asked, fixed)
          const isTaken = current.membership !== undefined && !isFree
          if (isTaken || current.swarm.peers().some(({ wanted }) => wanted))
            throw elsewhere(asked, current.swarm.name)
          options?.onProgress?.({ message: `changing to the swarm "${asked.swarm}"`, seconds: 0 })
          await change(asMembership(asked))
        }
      }
      isFree = false
      return await current.swarm.join(target, options)
    },
    async leave() {
      await swap
      if (current.membership !== undefined) await change(undefined)
      // From now on, the node accepts nobody until the next join.
      await current.swarm.leave()
      isFree = true
    },
    async publish(draft) {
      await swap
      return await current.swarm.publish(draft)
    },
    async download(options) {
      await swap
      return await current.swarm.download(options)
    },
    addresses: () => current.swarm.addresses(),
    peers: () => current.swarm.peers(),
    counters: () => current.swarm.counters(),
    network: () => current.swarm.network(),
    used: (author, groups) => current.swarm.used(author, groups),
    known: () => current.swarm.known(),
    isKnown: (author) => current.swarm.isKnown(author),
    mute: (peerId, on) => current.swarm.mute(peerId, on),
    invite: () => current.swarm.invite(),
    ...weighing(() => current.swarm),
    async accuse(accusation, proof) {
      await swap
      await current.swarm.accuse(accusation, proof)
    },
    offer: (file) => current.swarm.offer(file),
    withdraw: (id) => current.swarm.withdraw(id),
  }
}

/** The exchange of weights by whichever swarm it is at the time. */
const weighing = (swarm: () => Swarm): Pick<Swarm, 'heads' | 'receipts'> => ({
  heads: {
    offer: (head, bytes) => swarm().heads.offer(head, bytes),
    withdraw: () => swarm().heads.withdraw(),
    isTaking: (peer) => swarm().heads.isTaking(peer),
    hasAsked: (peer) => swarm().heads.hasAsked(peer),
    ask: (peer, lineage) => swarm().heads.ask(peer, lineage),
    fetch: (head, options) => swarm().heads.fetch(head, options),
    blame: (peer) => swarm().heads.blame(peer),
    get bytes() {
      return swarm().heads.bytes
    },
    get held() {
      return swarm().heads.held
    },
  },
  receipts: {
    tell: (source) => swarm().receipts.tell(source),
    ask: (peer, lineage) => swarm().receipts.ask(peer, lineage),
    named: (peer, wanted) => swarm().receipts.named(peer, wanted),
    fetch: (peer, wanted, onProgress) => swarm().receipts.fetch(peer, wanted, onProgress),
    blame: (peer) => swarm().receipts.blame(peer),
    get bytes() {
      return swarm().receipts.bytes
    },
  },
})

const asMembership = ({ swarm, psk, stun = [] }: Invite): Membership => ({ swarm, stun, ...(psk && { psk }) })

async function keep(invite: Invite, { save }: CurrentSwarmParts): Promise<Membership> {
  const membership = asMembership(invite)
  await save(membership)
  return membership
}

function fits({ swarm, psk }: Invite, name: string, key: Uint8Array | undefined): boolean {
  return swarm === name && Buffer.compare(psk ?? new Uint8Array(), key ?? new Uint8Array()) === 0
}

/** Throws E_SWARM_RULES if the config contradicts the invite. */
function checkFixed({ swarm, psk }: Invite, fixed: CurrentSwarmOptions['fixed']): void {
  const data = { swarm }
  if (fixed.name !== undefined && fixed.name !== swarm)
    throw new WaggleError(
      'E_SWARM_RULES',
      `the invite is for the swarm "${swarm}", and the config says swarm.name = "${fixed.name}"`,
      {
        hint: 'Remove swarm.name from the config, or use a separate home for that swarm (--home DIR).',
        data,
      },
    )
  if (fixed.key)
    throw new WaggleError('E_SWARM_RULES', 'the invite has a different key from the one in swarm.key_file', {
      hint: 'Remove swarm.key_file from the config; the invite contains the key.',
      data,
    })
  if (fixed.private && psk === undefined)
    throw new WaggleError(
      'E_SWARM_RULES',
      `the swarm "${swarm}" is open, and the config says swarm.private = true`,
      {
        hint: 'Remove swarm.private from the config, or use a separate home for that swarm (--home DIR).',
        data,
      },
    )
}

function elsewhere({ swarm }: Invite, current: string): WaggleError {
  return new WaggleError(
    'E_SWARM_RULES',
    swarm === current
      ? `this node is in a different swarm named "${swarm}", with another key or none`
      : `the invite is for the swarm "${swarm}", and this node is in "${current}"`,
    {
      hint: 'Leave that one first with `waggle leave`, or use a separate home for the other (--home DIR).',
      data: { swarm },
    },
  )
}
