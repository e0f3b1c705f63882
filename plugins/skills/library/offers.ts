// Peers' offers for a library, kept separate until a trial on this node shows that they help.
//
// Merging offers is commutative and idempotent: it keeps the few best offers of each peer by (claimed score, digest),
// with the highest claim for each text, and the peers with the lowest digests. So a liar can fill only its own
// places. Malformed input is ignored silently, because a peer must not be able to cause a strike against a plugin.

import { z } from 'zod'
import { byScore, type Entry, isFromTraining, splitOf } from './entry.ts'
import { cleanText, digestOf } from './text.ts'

const PEERS = 32
const PER_PEER = 8
const MAX_BYTES = 65_536

const offerSchema = z.strictObject({
  text: z.string().max(4096),
  zone: z.string().max(32),
  score: z.number().finite(),
  from: z.string().max(128),
})
const sharedSchema = z.strictObject({
  form: z.literal(1),
  split: z.string().max(64),
  entries: z.array(offerSchema).max(64),
})

export interface Offer {
  id: string
  text: string
  zone: string
  score: number
  from: string
}

export interface Offers {
  merge(remote: Uint8Array, from: string): void
  /** An untried offer from the peer with the fewest tried ones; it counts as tried from now on. */
  next(): { offer: Offer; peer: string } | undefined
  save(): unknown
  load(saved: unknown): void
}

export function createOffers({
  zones,
  characters,
}: {
  zones: readonly string[]
  characters: number
}): Offers {
  let peers = new Map<string, Offer[]>()
  const tried = new Map<string, Set<string>>()

  return {
    merge(remote, from) {
      const parsed = parse(remote)
      if (!parsed) return
      const best = new Map((peers.get(from) ?? []).map((offer) => [offer.id, offer]))
      for (const { text, zone, score, from: prompt } of parsed.entries) {
        const clean = cleanText(text, { limit: characters, lines: true })
        const offer = { id: digestOf(`${zone}\n${clean}`), text: clean, zone, score, from: prompt }
        if (clean === '' || !zones.includes(zone) || !isFromTraining(offer)) continue
        // Offers that are otherwise equal can differ only in their prompt.
        const known = best.get(offer.id)
        if (!known || score > known.score || (score === known.score && prompt < known.from))
          best.set(offer.id, offer)
      }
      const all = new Map(peers).set(from, [...best.values()].sort(byScore).slice(0, PER_PEER))
      peers = new Map([...all].sort(([a], [b]) => (digestOf(a) < digestOf(b) ? -1 : 1)).slice(0, PEERS))
      for (const peer of tried.keys()) if (!peers.has(peer)) tried.delete(peer)
    },

    next() {
      const count = (peer: string): number => tried.get(peer)?.size ?? 0
      for (const [peer, offers] of [...peers].sort(([a], [b]) => count(a) - count(b))) {
        const offer = offers.find(({ id }) => !tried.get(peer)?.has(id))
        if (!offer) continue
        tried.set(peer, new Set([...(tried.get(peer) ?? []), offer.id].slice(-64)))
        return { offer, peer }
      }
      return undefined
    },

    save: () => ({
      peers: [...peers].map(([peer, offers]) => [
        peer,
        offers.map(({ text, zone, score, from, id }) => ({ text, zone, score, from, id })),
      ]),
      tried: [...tried].map(([peer, ids]) => [peer, [...ids]]),
    }),
    load(saved) {
      const { peers: known, tried: ids } = savedSchema.parse(saved)
      peers = new Map(known)
      tried.clear()
      for (const [peer, list] of ids) tried.set(peer, new Set(list))
    },
  }
}

const savedSchema = z.strictObject({
  peers: z.array(z.tuple([z.string(), z.array(offerSchema.extend({ id: z.string() }))])),
  tried: z.array(z.tuple([z.string(), z.array(z.string())])),
})

function parse(bytes: Uint8Array): z.infer<typeof sharedSchema> | undefined {
  if (bytes.length > MAX_BYTES) return undefined
  try {
    const shared = sharedSchema.parse(JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)))
    return shared.split === splitOf(shared.entries) ? shared : undefined
  } catch {
    return undefined
  }
}

/** The best of these entries, encoded for peers. */
export function shareOf(entries: readonly Entry[]): Uint8Array {
  const best = [...entries]
    .sort(byScore)
    .slice(0, PER_PEER)
    .map(({ text, zone, score, from }) => ({ text, zone, score, from }))
  return new TextEncoder().encode(JSON.stringify({ form: 1, split: splitOf(best), entries: best }))
}
