// Parses the argument of `waggle join`, or explains what is wrong with it.

import { CODE_P2P, multiaddr } from '@multiformats/multiaddr'
import { WaggleError } from '../../../protocol/errors.ts'
import { safeText } from '../../../protocol/text.ts'
import { publicKeyOf } from '../../../protocol/wire/index.ts'

/** At least one of the two is set. */
export interface Target {
  peerId?: string
  /** Without the peer ID. */
  address?: string
}

const EXAMPLE_ID = '12D3KooW… (52 characters)'

export function parseTarget(input: string, { self }: { self: string }): Target {
  const text = input.trim()
  const target = text.startsWith('/') ? fromMultiaddr(text) : { peerId: text }
  if (target.peerId !== undefined) checkPeerId(target.peerId)
  if (target.peerId === self)
    throw new WaggleError('E_PEER', 'that is this node’s own peer ID', {
      hint: 'Join from the other node with this ID, or join here with the other node’s.',
    })
  return target
}

function fromMultiaddr(text: string): Target {
  try {
    const address = multiaddr(text)
    // In a relayed address, only the last ID is the target's; the one before is the relay's.
    const last = address.getComponents().at(-1)
    const peerId = last?.code === CODE_P2P ? last.value : undefined
    const bare = peerId === undefined ? address : address.decapsulateCode(CODE_P2P)
    return {
      ...(peerId !== undefined && { peerId }),
      ...(bare.getComponents().length > 0 && { address: bare.toString() }),
    }
  } catch (cause) {
    throw new WaggleError('E_PEER', `${shown(text)} is not an address: ${(cause as Error).message}`, {
      hint: 'An address looks like /ip4/192.168.1.5/tcp/4001/p2p/12D3KooW…; `waggle status` on the other node prints its own.',
      cause,
    })
  }
}

function checkPeerId(id: string): void {
  if (publicKeyOf(id) !== undefined) return
  const hint =
    id.startsWith('12D3KooW') && id.length !== 52
      ? `It has ${id.length} characters but a peer ID has 52; check that you copied all of it.`
      : /^(Qm|16Uiu2|bafz)/.test(id)
        ? 'It names a key of another kind. Waggle nodes have Ed25519 keys, whose IDs begin with 12D3KooW.'
        : `Give a peer ID, ${EXAMPLE_ID}, or an address such as /ip4/192.168.1.5/tcp/4001/p2p/12D3KooW…`
  throw new WaggleError('E_PEER', `${shown(id)} is not a peer ID`, { hint, data: { target: shown(id) } })
}

function shown(text: string): string {
  return `"${safeText(text, { limit: 80, line: true })}"`
}
