// Reads the export of Open WebUI's feedback (Admin Panel, Evaluations, Feedback, Export). Open WebUI tells no server of a
// thumb, and does not keep the ids of answers: a rating is found by what was asked and answered.

import { z } from 'zod'
import { type ConversationView, MAX_FIRST_WORDS } from '../../../../protocol/api/index.ts'
import { WaggleError } from '../../../../protocol/errors.ts'

export interface Rating {
  asked: string
  answer: string
  /** ms since the epoch. */
  at: number
  reward: number
  comment?: string
}

const message = z.looseObject({
  parentId: z.string().nullish(),
  content: z.unknown(),
  timestamp: z.number().optional(),
})
const entry = z.looseObject({
  data: z.looseObject({ rating: z.union([z.literal(1), z.literal(-1)]), comment: z.string().nullish() }),
  meta: z.looseObject({ message_id: z.string() }),
  snapshot: z.looseObject({
    chat: z.looseObject({
      chat: z.looseObject({ history: z.looseObject({ messages: z.record(z.string(), message) }) }),
    }),
  }),
})

/** Ratings with a thumb and the text that it is of; others, such as those of arenas, are left out. */
export function ratingsIn(text: string, file: string): Rating[] {
  let given: unknown
  try {
    given = JSON.parse(text)
  } catch {}
  if (!Array.isArray(given))
    throw new WaggleError('E_USAGE', `${file} is no export of Open WebUI's feedback`, {
      hint: 'It is a JSON list: Admin Panel, Evaluations, Feedback, Export.',
    })
  return given.flatMap((one) => {
    const read = entry.safeParse(one)
    if (!read.success) return []
    const { data, meta, snapshot } = read.data
    const { messages } = snapshot.chat.chat.history
    const at = (id: string | null | undefined) =>
      id && Object.hasOwn(messages, id) ? messages[id] : undefined
    const answer = at(meta.message_id)
    const asked = at(answer?.parentId)
    if (typeof answer?.content !== 'string' || typeof asked?.content !== 'string') return []
    return [
      {
        ...{ asked: asked.content, answer: answer.content, at: (answer.timestamp ?? 0) * 1000 },
        reward: data.rating === 1 ? 1 : 0,
        ...(data.comment ? { comment: data.comment.slice(0, 2000) } : {}),
      },
    ]
  })
}

const start = (text: string): string => text.slice(0, MAX_FIRST_WORDS).trim()

/** Each rating with the id of the kept answer that it is of: of several alike, the nearest in time. */
export function ratingsOf(
  ratings: readonly Rating[],
  kept: readonly ConversationView[],
): { id: string; reward: number; comment?: string }[] {
  const free = new Set(kept)
  return ratings.flatMap(({ asked, answer, at, ...rating }) => {
    const alike = [...free].filter(
      (one) => start(one.asked) === start(asked) && start(one.answer) === start(answer),
    )
    const [nearest] = alike.sort((a, b) => Math.abs(a.time - at) - Math.abs(b.time - at))
    if (!nearest) return []
    free.delete(nearest)
    return [{ id: nearest.id, ...rating }]
  })
}
