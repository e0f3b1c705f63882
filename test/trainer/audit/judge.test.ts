// A node finds a forged step, and accuses; another believes what it computes itself. On a real engine, without a network.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { PluginHost } from '../../../daemon/host/host.ts'
import type { AuditsOptions, AuditsParts } from '../../../daemon/node/audits/contract.ts'
import { createJudge } from '../../../daemon/node/audits/judge.ts'
import { createProofs } from '../../../daemon/node/audits/proofs.ts'
import { createBlobs } from '../../../daemon/store/blobs.ts'
import type { Swarm } from '../../../daemon/swarm/index.ts'
import { readReceipt } from '../../../daemon/swarm/receipts/receipts.ts'
import { methodText } from '../../../daemon/trainer/audit/method.ts'
import { type Accusation, encodeReceipt, peerIdOf } from '../../../protocol/wire/index.ts'
import { testSigner } from '../../protocol/wire/cases.ts'
import { SimulatedDisk } from '../../store/simulated-disk.ts'
import {
  addTo,
  auditing,
  BUILD,
  INITIAL,
  layout,
  METHOD,
  openPlugins,
  peer,
  play,
  RATE,
  type Recorded,
  SELF,
} from './recorded.ts'

const LINEAGE = 'ab'.repeat(32)
const author = testSigner(7)
let forger: Recorded
let plugins: PluginHost
beforeAll(async () => {
  plugins = await openPlugins()
  forger = await play({
    steps: 3,
    authors: [SELF],
    forge: (step, weights) => step === 1 && addTo(weights, 9),
  })
}, 60_000)
afterAll(() => Promise.all([forger.engine.close(), plugins.close()]))

type Bytes = (hash: string) => Promise<Uint8Array | undefined>

/** What the accused told, as it signed it. */
function told() {
  const facts = { lineage: LINEAGE, method: methodText(METHOD), build: BUILD, createdAt: 1000 }
  const frame = encodeReceipt({ ...facts, ...forger.ledger.offer()! }, author)
  return { receipt: readReceipt(frame), frame, bytes: (hash: string) => forger.ledger.bytes(hash) }
}

/** A node that gets what this accuser gives. */
function node({ gives = async () => undefined, now = 2000 }: { gives?: Bytes; now?: number } = {}) {
  const said: { accusation: Accusation; proof: Bytes }[] = []
  const [blamed, broken]: [string[], string[]] = [[], []]
  const swarm = () =>
    ({
      isKnown: () => false,
      async accuse(accusation: Accusation, proof: Bytes) {
        said.push({ accusation: { ...accusation, author: 'accuser', createdAt: now }, proof })
      },
      receipts: {
        async named(_: string, { hash }: { hash: string }) {
          const frame = await gives(hash)
          return frame && { receipt: readReceipt(frame), frame }
        },
        fetch: (_: string, { hash }: { hash: string }) => gives(hash),
        blame: (one: string) => void blamed.push(one),
      },
    }) as unknown as Swarm
  const blobs = createBlobs({ directory: '/proofs' }, { disk: new SimulatedDisk() })
  const clock = { now: () => now, monotonic: () => now, random: () => 0, log() {} }
  const judge = createJudge(
    {
      ...{ layout, self: peer(9), lineage: LINEAGE, method: () => METHOD, learningRate: () => RATE },
      ...{ maxTokens: () => 10_000, auditor: () => BUILD },
    } as unknown as AuditsOptions,
    {
      ...{ ...clock, ...auditing({ engine: forger.engine, plugins }), policy: { initial: INITIAL } },
      ladder: { broke: (one: string) => void broken.push(one) },
      proofs: createProofs({ ...clock, swarm, blobs, mayWrite: () => true }),
      swarm,
    } as unknown as AuditsParts,
  )
  return { judge, said, blamed, broken }
}

/** A node that has accused, and what it said. */
async function accuser(step = 1) {
  const one = node()
  const { receipt, ...rest } = told()
  const verdict = await one.judge.step({ receipt, ...rest }, receipt.steps[step]!)
  return { ...one, verdict }
}

describe('a node that computed a step again', () => {
  test('accuses its author once, and has what others need', async () => {
    const { verdict, said, judge } = await accuser()
    expect(verdict).toMatchObject({ outcome: 'failed' })
    const { receipt, ...rest } = told()
    await judge.step({ receipt, ...rest }, receipt.steps[1]!)
    expect(said).toMatchObject([{ accusation: { accused: peerIdOf(author.publicKey), step: 1 } }])
    const { batch, before, after } = receipt.steps[1]!
    for (const hash of [batch!.hash, before.weights, before.moments, after.weights, after.moments])
      expect(await said[0]!.proof(hash)).toBeDefined()
  })

  test('accuses nobody of an honest one', async () => {
    const { verdict, said } = await accuser(0)
    expect([verdict.outcome, said.length]).toEqual(['passed', 0])
  })
})

describe('an accusation', () => {
  test('is proved by computing the step, counts as an own failed audit, and is passed on', async () => {
    const { said } = await accuser()
    const third = node({ gives: said[0]!.proof })
    expect(await third.judge.check(said[0]!.accusation)).toMatchObject({
      ...{ finding: 'proved', what: expect.stringContaining('step 4: it moved the weights otherwise') },
    })
    expect(third).toMatchObject({ broken: [peerIdOf(author.publicKey)], blamed: [], said: { length: 1 } })
    // Once more, from another receipt, or by another accuser.
    expect(await third.judge.check(said[0]!.accusation)).toEqual({ finding: 'known' })
    expect(third.broken).toHaveLength(1)
  })

  test('of an honest step costs the accuser', async () => {
    const { said } = await accuser()
    const third = node({ gives: async (hash) => (await said[0]!.proof(hash)) ?? forger.ledger.bytes(hash) })
    expect(await third.judge.check({ ...said[0]!.accusation, step: 0 })).toMatchObject({ finding: 'false' })
    expect(third).toMatchObject({ broken: [], blamed: ['accuser'], said: [] })
  })

  test('of a step that the receipt does not have, or of somebody else, costs the accuser', async () => {
    const { said } = await accuser()
    const [{ accusation, proof }] = said as [(typeof said)[0]]
    const third = node({ gives: proof })
    expect(await third.judge.check({ ...accusation, step: 9 })).toEqual({ finding: 'false' })
    expect(await third.judge.check({ ...accusation, accused: peer(5) })).toEqual({ finding: 'false' })
    expect(third.blamed).toEqual(['accuser', 'accuser'])
  })

  test('whose proof does not come, or is a day old, is none, and costs nobody', async () => {
    const { said } = await accuser()
    const [{ accusation, proof }] = said as [(typeof said)[0]]
    const silent = node()
    const half = node({
      gives: (hash) => (hash === accusation.receipt ? proof(hash) : Promise.resolve(undefined)),
    })
    const late = node({ gives: proof, now: 26 * 3_600_000 })
    for (const third of [silent, half, late]) {
      expect(await third.judge.check(accusation)).toMatchObject({ finding: 'open' })
      expect(third).toMatchObject({ broken: [], blamed: [], said: [] })
    }
  })
})

test('an accusation is said again for an hour, and then its proof is gone', async () => {
  const blobs = createBlobs({ directory: '/proofs' }, { disk: new SimulatedDisk() })
  const state = { now: 0, said: 0, proof: (async () => undefined) as Bytes }
  const proofs = createProofs({
    ...{ blobs, mayWrite: () => true, monotonic: () => state.now, log() {} },
    swarm: () => ({
      async accuse(_, proof) {
        state.said++
        state.proof = proof
      },
    }),
  })
  const { frame, receipt, bytes } = told()
  await proofs.accuse({ receipt, frame, bytes }, 1, [])
  const { said: first } = state
  for (; state.now < 3_600_000; state.now += 60_000) proofs.repeat(state.now)
  proofs.repeat(state.now)
  const hash = await blobs.put(frame)
  expect([first, state.said, await state.proof(hash)]).toEqual([1, 7, frame])
  proofs.repeat(state.now + 600_000)
  await new Promise(setImmediate)
  expect([state.said, await state.proof(hash)]).toEqual([7, undefined])
})
