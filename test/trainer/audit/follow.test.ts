// One look at a stranger's steps, which a real engine made and computes again.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Weights } from '../../../daemon/engine/weights.ts'
import { type FollowParts, follow } from '../../../daemon/node/audits/follow.ts'
import { createLadder } from '../../../daemon/trainer/audit/ladder.ts'
import { methodText } from '../../../daemon/trainer/audit/method.ts'
import { bytesOf, firstState, hashOf } from '../../../daemon/trainer/audit/state.ts'
import type { AuditedWeights } from '../../../daemon/trainer/heads/join.ts'
import { toVector, toWeights, type Vector } from '../../../daemon/trainer/heads/vector.ts'
import { oddsOf, uncalibrated } from '../../../daemon/trainer/sharing/typicality.ts'
import { addTo, audit, INITIAL, layout, METHOD, play, type Recorded, SELF } from './recorded.ts'

const ORIGIN = toVector(layout, INITIAL)

/** Weights after a warm start: every value is moved by as much, and by so much more. */
const warmStarted = (more = 0): Weights =>
  toWeights(
    layout,
    ORIGIN.map((value, i) => value + 0.1 * (1 + more) * (i % 2 === 0 ? 1 : -1)),
  )

let [honest, forger, warm]: [Recorded, Recorded, Recorded] = [] as never
beforeAll(async () => {
  const authors = [SELF, SELF]
  honest = await play({ steps: 4, authors })
  warm = await play({ steps: 4, authors, from: warmStarted() })
  forger = await play({ steps: 4, authors, forge: (step, weights) => step === 2 && addTo(weights, 9) })
}, 60_000)
afterAll(() => Promise.all([honest, forger, warm].map(({ engine }) => engine.close())))

/** Looks once at what was recorded, with the step of this number drawn. `ownStart`: what the own warm start made. */
async function look(
  { ledger }: Recorded,
  drawn: number,
  { isServed = true, ownStart }: { isServed?: boolean; ownStart?: Vector | undefined } = {},
) {
  const failures: string[] = []
  const taken: AuditedWeights[] = []
  const logged: string[] = []
  const ladder = createLadder(
    { first: firstState(layout, ORIGIN) },
    {
      hasHead: () => false,
      odds: () => oddsOf(uncalibrated()),
      random: () => drawn / 4,
      warmStart: () => ownStart && hashOf(bytesOf(ownStart)),
    },
  )
  const told = {
    ...{ lineage: 'l', method: methodText(METHOD), build: 'onnx on cpu', author: SELF, createdAt: 0 },
    ...ledger.offer()!,
  }
  const swarm = {
    receipts: {
      ask: async () => ({ receipt: told, frame: new Uint8Array() }),
      fetch: async (_: string, { hash }: { hash: string }) => (isServed ? ledger.bytes(hash) : undefined),
    },
  } as unknown as ReturnType<FollowParts['swarm']>
  const isPassed = await follow(
    SELF,
    { lineage: 'l', values: layout.size },
    {
      ...{ ladder, swarm: () => swarm, ownHeads: { get: () => undefined } },
      ...{ warmStart: async () => ownStart, origin: () => ORIGIN },
      audit: ({ bytes }, step) =>
        audit({ ledger }, told.steps.indexOf(step), {
          bytes,
          uniform: () => 0.5,
        }),
      draws: () => true,
      newest: () => ORIGIN,
      take: (weights) => void taken.push(weights),
      onFailed: (_, message) => void failures.push(message),
      ...{ monotonic: () => 0, log: (message) => void logged.push(message) },
    },
  )
  return { isPassed, failures, taken, logged, list: ladder.list() }
}

describe('a stranger', () => {
  test('that trained from the first values on has passed one draw, and counts nothing yet', async () => {
    expect(await look(honest, 3)).toMatchObject({
      ...{ isPassed: true, failures: [], taken: [], list: [{ author: SELF, passed: 1, weight: 0 }] },
    })
  })

  test('is looked at by the tokens of its batch: these were written by nobody’s policy', async () => {
    const { list } = await look(honest, 0)
    expect(list[0]!.likeness).not.toBe('matched')
  })

  test('that forged the step that is drawn is accused, and has nothing', async () => {
    expect(await look(forger, 2)).toMatchObject({
      ...{ failures: [expect.stringContaining('step 5')], taken: [], list: [] },
    })
  })

  test('that does not serve the step that is drawn is not accused, and has nothing', async () => {
    expect(await look(forger, 2, { isServed: false })).toMatchObject({
      isPassed: false,
      failures: [],
      list: [],
    })
  })

  test.each([
    ['that began with the same warm start', 0],
    ['whose warm start rounded otherwise', 0.009],
  ])('%s has passed a draw', async (_, more) => {
    const ownStart = toVector(layout, warmStarted(more))
    expect(await look(warm, 3, { ownStart })).toMatchObject({ list: [{ passed: 1 }] })
  })

  test.each([
    ['than the own warm start made', 0.02, '2 % of the way apart'],
    ['where there was no warm start', undefined, 'which this node did not make'],
  ])('that began with other weights %s has nothing, and is not accused', async (_, more, why) => {
    const ownStart = more === undefined ? undefined : toVector(layout, warmStarted(more))
    const { list, failures, logged } = await look(warm, 3, { ownStart })
    expect({ list, failures }).toEqual({ list: [], failures: [] })
    expect(logged[0]).toContain(why)
  })

  test('that does not serve the end of its warm start has nothing', async () => {
    const ownStart = toVector(layout, warmStarted(0.009))
    expect(await look(warm, 3, { ownStart, isServed: false })).toMatchObject({ list: [], failures: [] })
  })
})
