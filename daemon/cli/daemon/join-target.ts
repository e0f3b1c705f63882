// Checks the form of the target of `waggle join`. Whether the peer exists is up to the node.

import { WaggleError } from '../../../protocol/errors.ts'
import { isPeerName, safeText } from '../../../protocol/text.ts'

/** The same as in protocol/wire, which loads too slowly for this command. */
const INVITE_PREFIX = 'waggle1'
/** Longer than any invite. */
const MAX_CHARS = 16_384

export const isInvite = (target: string): boolean => target.startsWith(INVITE_PREFIX)

/** `-` reads the target from standard input: an invite may contain a key, and other users can see command lines. */
export async function readTarget(argument: string, stdin: AsyncIterable<Buffer | string>): Promise<string> {
  if (argument !== '-') return checked(argument.trim())
  let text = ''
  for await (const chunk of stdin) {
    text += chunk
    if (text.length > MAX_CHARS) break
  }
  return checked(text.trim())
}

function checked(target: string): string {
  const id = /^(?:12D3KooW|16Uiu2HA|Qm)[1-9A-HJ-NP-Za-km-z]{40,60}$|^[bk][a-z0-9]{50,70}$/
  if (target.startsWith('/') || isInvite(target) || id.test(target) || isPeerName(target)) return target
  throw new WaggleError(
    'E_USAGE',
    `"${safeText(target, { limit: 100, line: true })}" is not a peer ID, a peer's name, a multiaddr or an invite`,
    {
      hint: 'A peer ID looks like 12D3KooW..., a multiaddr like /ip4/192.0.2.7/tcp/4001/p2p/12D3KooW.... The other node shows both in `waggle status`.',
    },
  )
}
