// A node's receipts and audits, without an engine and a network.

import { describe, expect, test } from 'vitest'
import type { OptimizerState, Weights } from '../../../daemon/engine/weights.ts'
import { createNodeAudits } from '../../../daemon/node/audits/audits.ts'
import type { AuditsOptions, AuditsParts } from '../../../daemon/node/audits/contract.ts'
import { createBlobs } from '../../../daemon/store/blobs.ts'
import { readReceipt } from '../../../daemon/swarm/receipts/receipts.ts'
import { isHeadOf } from '../../../daemon/trainer/audit/head.ts'
import { createOwnHeads } from '../../../daemon/trainer/audit/own-heads.ts'
import { hashOf } from '../../../daemon/trainer/audit/state.ts'
import { createHeadExchange, packBeside } from '../../../daemon/trainer/heads/exchange.ts'
import { toVector } from '../../../daemon/trainer/heads/vector.ts'
import type { UpdateOptions, UpdateReport } from '../../../daemon/trainer/update.ts'
import { NO_PHASES } from '../../../protocol/api/index.ts'
import { peerIdOf } from '../../../protocol/wire/index.ts'
import { testSigner } from '../../protocol/wire/cases.ts'
import { SimulatedDisk } from '../../store/simulated-disk.ts'
import { INITIAL, layout, METHOD } from './recorded.ts'

const LINEAGE = 'ab'.repeat(32)
const signer = testSigner()
const self = peerIdOf(signer.publicKey)
const zeros = (): Weights =>
  Object.fromEntries(layout.tensors.map(({ name, length }) => [name, new Float32Array(length)]))

/** A node whose steps add one to every weight, as its own recomputation finds. */
function play({ disk = new SimulatedDisk(), restored, told }: Start = {}) {
  const state = {
    isOn: true,
    weights: structuredClone(INITIAL),
    steps: 0,
    lines: [] as string[],
    blamed: [] as string[],
    rate: 1,
  }
  const moments = (): OptimizerState => ({ steps: state.steps, first: zeros(), second: zeros() })
  const options: AuditsOptions = {
    ...{ layout, self, lineage: LINEAGE, restored, isOn: () => state.isOn, follows: () => false },
    method: () => ({ ...METHOD, temperature: state.rate }),
    ...{ learningRate: () => 1, maxTokens: () => 1000 },
    ...{ build: () => 'waggle 1, onnx on cpu', auditor: () => 'waggle 1, onnx on cpu' },
  }
  const audits = createNodeAudits(options, {
    policy: {
      initial: INITIAL,
      trainer: {
        weights: async () => structuredClone(state.weights),
        optimizer: async () => moments(),
        info: { kind: 'onnx', device: 'cpu', reason: '', threads: 1 },
      },
    } as unknown as AuditsParts['policy'],
    swarm: () =>
      ({
        receipts: {
          tell() {},
          ask: async () => told && { receipt: told, frame: new Uint8Array() },
          fetch: async () => undefined,
          blame: (peer: string) => void state.blamed.push(peer),
          bytes: { in: 0, out: 0 },
        },
        isKnown: () => false,
      }) as unknown as ReturnType<AuditsParts['swarm']>,
    blobs: createBlobs({ directory: '/audits' }, { disk }),
    keepHead: async () => {},
    warmStart: async () => undefined,
    keepWarmStart: async () => {},
    proofs: { async accuse() {}, repeat() {} },
    budget: { draws: () => true, info: () => undefined },
    ...{
      signer,
      phases: NO_PHASES,
      random: () => 0,
      now: () => 5,
      monotonic: () => 5,
      log: (line) => void state.lines.push(line),
    },
    ...{
      ladder: {} as AuditsParts['ladder'],
      ownHeads: createOwnHeads({ origin: () => new Float32Array() }),
    },
    findTask: () => undefined,
    encodePrompt: () => new Int32Array(),
    decode: () => undefined,
    pause: async () => {},
    recompute: () => Promise.reject(new Error('no engine')),
  })
  const step = (meanwhile = () => {}) =>
    audits.recorder.record(
      {
        groups: [],
        options: { self, version: state.steps, minibatches: 1, optimizer: {} } as unknown as UpdateOptions,
        ...{ random: () => 0, changes: state.steps, closed: 'a test' },
      },
      async () => {
        for (const values of Object.values(state.weights))
          for (let i = 0; i < values.length; i++) values[i]! += 1
        state.steps++
        meanwhile()
        return { steps: 1 } as UpdateReport
      },
    )
  return { audits, state, step, disk }
}

interface Start {
  disk?: SimulatedDisk
  restored?: Uint8Array
  told?: ReturnType<typeof readReceipt>
}

describe('a receipt', () => {
  test('has a step after each update, chained by hash, and is there again after a restart', async () => {
    const { audits, step, disk } = play()
    await step()
    await step()
    const frame = audits.receipt()!
    const { steps, author } = readReceipt(frame)
    expect(author).toBe(self)
    expect(steps.map(({ version }) => version)).toEqual([0, 1])
    expect(steps[1]!.before).toEqual(steps[0]!.after)
    const again = play({ disk, restored: frame })
    expect((await again.audits.audit({ all: true })).audited.map(({ step: at }) => at)).toEqual([0, 1])
  })

  test('of another node is not continued', async () => {
    const { audits, step } = play()
    await step()
    const frame = audits.receipt()!
    frame[40]! ^= 1
    await expect(play({ restored: frame }).audits.audit({})).rejects.toThrow('no receipt')
  })

  test('is not made while audits are off', async () => {
    const { audits, state, step } = play()
    state.isOn = false
    await step()
    expect(audits.receipt()).toBeUndefined()
    expect(state.steps).toBe(1)
  })

  test('begins again where the node learns by another method, and a step meanwhile is closed', async () => {
    const { audits, state, step } = play()
    await step()
    await step(() => {
      state.rate = 2
    })
    expect(readReceipt(audits.receipt()!).steps).toMatchObject([
      { version: 1, closed: expect.stringContaining('settings') },
    ])
  })

  test('names the heads that were averaged in before a step', async () => {
    const { audits, step, state } = play()
    const beside = toVector(layout, state.weights)
    await audits.joined([{ author: self, hash: 'cd'.repeat(32), share: 0.5, beside }])
    await step()
    await step()
    const { steps } = readReceipt(audits.receipt()!)
    expect(steps.map(({ joined }) => joined)).toEqual([
      [{ author: self, hash: 'cd'.repeat(32), added: { share: 0.5, beside: steps[0]!.before.weights } }],
      [],
    ])
  })

  test('that cannot be written costs no step, and is told once', async () => {
    const { state, step, disk } = play()
    disk.capacity = 0
    await step()
    await step()
    expect(state.steps).toBe(2)
    expect(state.lines).toHaveLength(1)
  })
})

describe('a head', () => {
  const ofHeads = () =>
    createHeadExchange({
      ...{ layout, origin: () => toVector(layout, INITIAL) },
      ...{ every: 1, learningRate: () => 1e-3, batchGroups: () => 8 },
    })

  test('follows from the weights that the receipt names, also with what rounding had lost before', async () => {
    const { audits, state, step } = play()
    const exchange = ofHeads()
    for (let i = 0; i < 3; i++) {
      await step()
      const weights = toVector(layout, state.weights).map((value, at) => value + at * 1e-4)
      await audits.made({ bytes: exchange.make({ version: i, weights, at: 0 }), weights })
      expect(await audits.audit({})).toMatchObject({ head: 'passed' })
    }
    expect(readReceipt(audits.receipt()!).head!.lost).toBeDefined()
  })

  test('that cannot be recorded costs no exchange, and is told', async () => {
    const { audits, state, disk } = play()
    disk.capacity = 0
    const weights = toVector(layout, state.weights)
    await audits.made({ bytes: ofHeads().make({ version: 0, weights, at: 0 }), weights })
    expect(state.lines).toHaveLength(1)
  })

  test('of other weights is not in the receipt', async () => {
    const { audits, state, step } = play()
    await step()
    const exchange = ofHeads()
    const weights = toVector(layout, state.weights)
    const bytes = exchange.make({ version: 0, weights: weights.map((value) => value + 1), at: 0 })
    await audits.made({ bytes, weights })
    expect(readReceipt(audits.receipt()!).head).toBeUndefined()
  })
})

test('a head whose receipt claims that rounding had lost more than rounding can is forged', () => {
  const origin = toVector(layout, INITIAL)
  const weights = origin.map((value, i) => value + Math.sin(i))
  const isForged = (share: number): boolean => {
    const lost = weights.map((value, i) => share * (value - origin[i]!))
    const hash = hashOf(packBeside(weights, origin, lost.slice()))
    return !isHeadOf(hash, { weights, origin, lost })
  }
  expect([0.005, 0.1, 2].map(isForged)).toEqual([false, true, true])
})

test('a peer whose receipt is not served is not charged', async () => {
  const { audits: theirs, step } = play()
  await step()
  const told = { ...readReceipt(theirs.receipt()!), author: peerIdOf(new Uint8Array(32).fill(3)) }
  const { audits, state } = play({ told })
  const result = await audits.audit({ peer: told.author })
  expect(result).toMatchObject({ isOwn: false, audited: [{ outcome: 'unauditable', detail: 'a test' }] })
  expect(state.blamed).toEqual([])
})
