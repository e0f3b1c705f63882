// Stores the texts of all skill plugins: entries in zones, each with a cap, scores and the text's origin.
//
// Texts are cleaned on arrival, whoever wrote them, and identified by a digest of the result. Peers' entries fill at
// most a quarter of a zone. A text that reveals a prompt's answer is never shown with that prompt (`usable`). A
// library is saved and exported as JSON, so that people can read it and other nodes can load it.

import { z } from 'zod'
import { WaggleError } from '../../../protocol/errors.ts'
import type { Context } from '../../../protocol/plugin/index.ts'
import type { PromptCoordinates } from '../../../protocol/train/index.ts'
import { BUILT_IN, byScore, type Entry, entrySchema, isFromTraining, splitOf } from './entry.ts'
import { createOffers, type Offers, shareOf } from './offers.ts'
import { cleanText, digestOf } from './text.ts'

interface LibraryOptions {
  /** Zone -> maximum number of entries. */
  zones: Readonly<Record<string, number>>
  /** Maximum length of a text. */
  characters: number
}

type NewEntry = Pick<Entry, 'text' | 'zone' | 'score' | 'from' | 'author' | 'step'>

export interface Library {
  readonly size: number
  readonly offers: Offers
  /** Best first; all zones if none is named. */
  entries(zone?: string): Entry[]
  find(id: string): Entry | undefined
  /** The entry as it would be stored; undefined if its text is empty or from a held-out prompt. */
  admit(entry: NewEntry): Entry | undefined
  /** Whether the zone accepts another entry by this author, apart from the zone's own cap. */
  hasRoomFor(entry: Entry): boolean
  /** Adds an entry or replaces the one with its id. The caller enforces the caps: see `isFull`. */
  put(entry: Entry): void
  remove(id: string): void
  isFull(zone: string): boolean
  /** The entries that this node made itself, for peers. */
  share(): Uint8Array
  save(extra?: unknown): Uint8Array
  load(bytes: Uint8Array): unknown
}

const PEER_SHARE = 0.25

export function createLibrary({ zones, characters }: LibraryOptions): Library {
  const byId = new Map<string, Entry>()
  const offers = createOffers({ zones: Object.keys(zones), characters })
  const entries = (zone?: string): Entry[] =>
    [...byId.values()].filter((entry) => zone === undefined || entry.zone === zone).sort(byScore)
  const isOwn = ({ author }: Entry): boolean => author === 'self' || author === BUILT_IN

  return {
    get size() {
      return byId.size
    },
    offers,
    entries,
    find: (id) => byId.get(id),
    admit(given) {
      const text = cleanText(given.text, { limit: characters, lines: true })
      const entry = { ...given, id: digestOf(text), text, uses: 0 }
      return text === '' || !(given.zone in zones) || !isFromTraining(entry) ? undefined : entry
    },
    hasRoomFor: (entry) =>
      isOwn(entry) ||
      entries(entry.zone).filter((other) => !isOwn(other)).length <
        Math.max(1, Math.floor(PEER_SHARE * zones[entry.zone]!)),
    put: (entry) => void byId.set(entry.id, entry),
    remove: (id) => void byId.delete(id),
    isFull: (zone) => entries(zone).length >= zones[zone]!,
    share: () => shareOf(entries().filter(({ author }) => author === 'self')),
    save(extra = null) {
      const all = entries()
      const state = { form: 1, split: splitOf(all), entries: all.map(inOrder), offers: offers.save(), extra }
      return new TextEncoder().encode(JSON.stringify(state))
    },
    load(bytes) {
      const saved = parse(bytes)
      byId.clear()
      for (const entry of saved.entries) byId.set(entry.id, entry)
      offers.load(saved.offers)
      return saved.extra
    },
  }
}

/** Copies an entry with its keys in a fixed order, so that equal libraries give equal bytes. */
function inOrder({ id, text, zone, score, uses, from, author, step }: Entry): Entry {
  return { id, text, zone, score, uses, from, author, step }
}

/** The entries that do not reveal the prompt's answer, in order. */
export function usable(entries: readonly Entry[], prompt: PromptCoordinates, context: Context): Entry[] {
  return entries.filter(({ text }) => !context.leaks(prompt, text))
}

/** As many items as fit before the question and a whole answer; the last ones are dropped first. */
export function fitting<Shown>(
  shown: readonly Shown[],
  before: (some: readonly Shown[]) => string,
  prompt: PromptCoordinates,
  { conditioning, limits }: Context,
): readonly Shown[] {
  const fits = (count: number): boolean =>
    conditioning(prompt, { before: before(shown.slice(0, count)) }).length + limits.completion <=
    limits.context
  let [most, tooMany] = [0, shown.length + 1]
  // Binary search: more entries are never shorter.
  for (let count = shown.length; most + 1 < tooMany; count = (most + tooMany) >> 1) {
    if (fits(count)) most = count
    else tooMany = count
  }
  return shown.slice(0, most)
}

const stateSchema = z.strictObject({
  form: z.literal(1),
  split: z.string(),
  entries: z.array(entrySchema),
  offers: z.unknown(),
  extra: z.unknown(),
})

function parse(bytes: Uint8Array): z.infer<typeof stateSchema> {
  const refused = (why: string, cause?: unknown): WaggleError =>
    new WaggleError('E_CHECKPOINT', `the saved skill library cannot be used: ${why}`, {
      hint: 'Restore an older checkpoint, or start without this library.',
      cause,
    })
  let saved: z.infer<typeof stateSchema>
  try {
    saved = stateSchema.parse(JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)))
  } catch (cause) {
    throw refused('it does not have the right format', cause)
  }
  const heldOut = saved.entries.find((entry) => !isFromTraining(entry))
  if (heldOut) throw refused(`an entry is from ${heldOut.from}, which is no training prompt`)
  if (saved.split !== splitOf(saved.entries))
    throw refused('its digest of the training split does not match its entries')
  return saved
}
