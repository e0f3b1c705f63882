// One look at a stranger's steps, which a real engine made and computes again.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type FollowParts, follow } from '../../../daemon/node/audits/follow.ts'
import { createLadder } from '../../../daemon/trainer/audit/ladder.ts'
import { methodText } from '../../../daemon/trainer/audit/method.ts'
import { firstState } from '../../../daemon/trainer/audit/state.ts'
import type { AuditedWeights } from '../../../daemon/trainer/heads/join.ts'
import { toVector } from '../../../daemon/trainer/heads/vector.ts'
import { oddsOf, uncalibrated } from '../../../daemon/trainer/sharing/typicality.ts'
import { addTo, audit, INITIAL, layout, METHOD, play, type Recorded, SELF } from './recorded.ts'

let [honest, forger]: [Recorded, Recorded] = [] as never
beforeAll(async () => {
  const authors = [SELF, SELF]
  honest = await play({ steps: 4, authors })
  forger = await play({ steps: 4, authors, forge: (step, weights) => step === 2 && addTo(weights, 9) })
}, 60_000)
afterAll(() => Promise.all([honest, forger].map(({ engine }) => engine.close())))

/** Looks once at what was recorded, with the step of this number drawn. */
async function look({ ledger }: Recorded, drawn: number, isServed = true) {
  const failures: string[] = []
  const taken: AuditedWeights[] = []
  const origin = toVector(layout, INITIAL)
  const ladder = createLadder(
    { first: firstState(layout, origin) },
    { hasHead: () => false, odds: () => oddsOf(uncalibrated()), random: () => drawn / 4 },
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
      audit: ({ bytes }, step) =>
        audit({ ledger }, told.steps.indexOf(step), {
          bytes,
          uniform: () => 0.5,
        }),
      draws: () => true,
      newest: () => origin,
      take: (weights) => void taken.push(weights),
      onFailed: (_, message) => void failures.push(message),
      ...{ monotonic: () => 0, log() {} },
    },
  )
  return { isPassed, failures, taken, list: ladder.list() }
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
    expect(await look(forger, 2, false)).toMatchObject({ isPassed: false, failures: [], list: [] })
  })
})
