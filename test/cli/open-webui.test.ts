// Thumbs in Open WebUI's export of feedback, and the kept answers that they are of.

import { describe, expect, it } from 'vitest'
import { ratingsIn, ratingsOf } from '../../daemon/cli/commands/watch/open-webui.ts'
import type { ConversationView } from '../../protocol/api/index.ts'

/** As Open WebUI 0.6 writes one, without what is not read. */
function feedback(rating: unknown, { asked = 'why?', answer = 'so', at = 100, comment = '' } = {}) {
  const messages = {
    q: { id: 'q', parentId: null, childrenIds: ['a'], role: 'user', content: asked, timestamp: at - 1 },
    a: { id: 'a', parentId: 'q', childrenIds: [], role: 'assistant', content: answer, timestamp: at },
  }
  return {
    ...{ id: 'f', user_id: 'u', version: 0, type: 'rating', created_at: at },
    data: { rating, model_id: 'tiny', sibling_model_ids: null, reason: 'concise', comment, tags: [] },
    meta: { arena: false, chat_id: 'c', message_id: 'a', message_index: 2, tags: [] },
    snapshot: { chat: { id: 'c', title: 'Why', chat: { models: ['tiny'], history: { messages } } } },
  }
}
const kept = (id: string, time: number, more: Partial<ConversationView> = {}): ConversationView => ({
  ...{ id, time, model: 'tiny', version: 1, asked: 'why?', answer: 'so', tokens: 1, state: 'unrated' },
  ...more,
})
const read = (...given: unknown[]) => ratingsIn(JSON.stringify(given), 'export.json')

describe('an export', () => {
  it('gives each thumb with what was asked and answered', () => {
    expect(read(feedback(1, { comment: 'short' }), feedback(-1))).toEqual([
      { asked: 'why?', answer: 'so', at: 100_000, reward: 1, comment: 'short' },
      { asked: 'why?', answer: 'so', at: 100_000, reward: 0 },
    ])
  })

  it('loses only what is no thumb of a text', () => {
    const { snapshot, ...without } = feedback(1)
    const elsewhere = { ...feedback(1), meta: { message_id: '__proto__' } }
    const wrong = [null, 7, [], {}, feedback(null), feedback('1'), feedback(0.5), without, elsewhere]
    expect(snapshot).toBeDefined()
    expect(read(...wrong, feedback(1))).toHaveLength(1)
  })

  it.each(['', '{', '{"data":[]}', 'null'])('is refused if it is no list: %j', (text) => {
    expect(() => ratingsIn(text, 'export.json')).toThrow("export.json is no export of Open WebUI's feedback")
  })
})

describe('a thumb', () => {
  it('is of the answer with its texts that is nearest in time, and each answer has one', () => {
    const answers = [kept('late', 190_000), kept('near', 101_000), kept('other', 100_000, { answer: 'no' })]
    expect(ratingsOf(read(feedback(1), feedback(-1)), answers)).toEqual([
      { id: 'near', reward: 1 },
      { id: 'late', reward: 0 },
    ])
  })

  it('is of none if none is kept', () => {
    expect(ratingsOf(read(feedback(1)), [kept('x', 100_000, { asked: 'what?' })])).toEqual([])
  })

  it('finds long texts by their beginning', () => {
    const long = 'word '.repeat(99)
    const view = kept('x', 0, { asked: long.slice(0, 200), answer: long.slice(0, 200) })
    expect(ratingsOf(read(feedback(1, { asked: long, answer: long })), [view])).toHaveLength(1)
  })
})
