// Resolves a peer's name or ID. Names are derived from IDs and easy to imitate: finding an ID with a given name takes
// seconds. An ambiguous name is therefore refused, with a list of the IDs.

import { WaggleError } from '../../../protocol/errors.ts'
import { peerName, safeText } from '../../../protocol/text.ts'
import { publicKeyOf } from '../../../protocol/wire/index.ts'

/** `ids` are the peers that the node knows: connected, met, joined or muted. Throws E_PEER if none or several match. */
export function findPeer(given: string, ids: Iterable<string>): string {
  if (publicKeyOf(given) !== undefined) return given
  const fitting = [...new Set(ids)].filter((id) => peerName(id) === given)
  if (fitting.length === 1) return fitting[0]!
  const shown = safeText(given, { limit: 100, line: true })
  if (fitting.length === 0)
    throw new WaggleError('E_PEER', `no peer is named ${shown}`, {
      hint: '`waggle peers` lists them by name and ID.',
    })
  throw new WaggleError('E_PEER', `${fitting.length} peers are named ${shown}: ${fitting.join(', ')}`, {
    hint: 'Give the ID. Names are easy to imitate, so ask the owner of the node for the ID.',
    data: { ids: fitting },
  })
}
