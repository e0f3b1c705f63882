// Whom a node audits and when, and what it does about what comes out.

import { describe, expect, test } from 'vitest'
import { randomStream } from '../../../daemon/host/random.ts'
import { createAuditRounds } from '../../../daemon/node/audits/rounds.ts'
import type { Finding } from '../../../daemon/trainer/audit/accusations.ts'
import { createAuditBudget } from '../../../daemon/trainer/audit/budget.ts'
import { createAuditSchedule } from '../../../daemon/trainer/audit/schedule.ts'
import type { AuditedStep, AuditResult } from '../../../protocol/api/index.ts'
import type { Accusation } from '../../../protocol/wire/index.ts'

describe('the schedule', () => {
  test('audits a newcomer more often than a peer that has passed', () => {
    const schedule = createAuditSchedule({ leastMs: 0 }, { random: randomStream(1, 'audits') })
    for (let i = 0; i < 9; i++) schedule.ended('old', { isPassed: true }, -1e6)
    const drawn = Array.from({ length: 1000 }, () => schedule.next(['old', 'new'], 0))
    // Chances are 1/10 and 1.
    expect(drawn.filter((peer) => peer === 'old').length).toBeGreaterThan(60)
    expect(drawn.filter((peer) => peer === 'old').length).toBeLessThan(125)
  })

  test('looks again after a while', () => {
    const schedule = createAuditSchedule({ leastMs: 3000 }, { random: () => 0 })
    schedule.ended('a', { isPassed: true }, 1000)
    expect([3999, 4000].map((now) => schedule.next(['a'], now))).toEqual([undefined, 'a'])
  })

  test('audits nobody where there is nobody', () => {
    expect(createAuditSchedule({ leastMs: 0 }, { random: () => 0.5 }).next([], 0)).toBeUndefined()
  })
})

describe('the budget', () => {
  /** A node that could audit after each processor second; audits take 2. */
  const play = (seconds: number, isAsked: (at: number) => boolean = () => true) => {
    const state = { at: 0 }
    const budget = createAuditBudget(
      {},
      { processorSeconds: () => state.at, random: randomStream(1, 'budget') },
    )
    const audits: number[] = []
    for (; state.at < seconds; state.at++) {
      if (!isAsked(state.at) || !budget.draws()) continue
      audits.push(state.at)
      budget.spent(2)
      expect(2 * audits.length).toBeLessThanOrEqual(0.05 * state.at + 2 * 4)
    }
    return { budget, audits }
  }

  test('is a twentieth of the node’s processor time', () => {
    expect(play(20_000).budget.info()!.share).toBeGreaterThan(0.045)
    expect(play(20_000).budget.info()!.share).toBeLessThan(0.052)
  })

  test('is used as well where an audit is possible only now and then', () => {
    expect(play(20_000, (at) => at % 30 === 0).budget.info()!.share).toBeGreaterThan(0.045)
  })

  /** An audit's engine takes `own` processor seconds while the node takes 3.6. */
  const charged = async (own: () => Promise<number>, run = async () => 'passed') => {
    const state = { at: 100 }
    const budget = createAuditBudget({}, { processorSeconds: () => state.at, random: () => 0 })
    const audit = async () => {
      state.at += 3.6
      return await run()
    }
    const verdict = await budget.charge({ processorSeconds: own }, audit).catch(() => 'failed')
    return [verdict, budget.info()!.seconds]
  }

  test('is charged what an audit’s engine takes, not what the node does beside', async () => {
    expect(await charged(async () => 1)).toEqual(['passed', 1.3])
  })

  test('is charged at most what the node took, though an engine’s threads were idle', async () => {
    expect(await charged(async () => 6.4)).toEqual(['passed', expect.closeTo(3.6)])
  })

  test('is charged for an audit that failed, and for an engine that cannot say', async () => {
    const fail = () => Promise.reject(new Error('no memory'))
    expect(await charged(async () => 1, fail)).toEqual(['failed', 1.3])
    expect(await charged(fail, fail)).toEqual(['failed', expect.closeTo(3.6)])
  })

  test('does not tell when the next audit comes: it may be at once', () => {
    const { audits } = play(20_000)
    const waits = audits.slice(1).map((at, i) => at - audits[i]!)
    // One in forty, as after any other second.
    expect(waits.filter((wait) => wait <= 10).length / waits.length).toBeGreaterThan(0.15)
    expect(waits.filter((wait) => wait > 80).length / waits.length).toBeGreaterThan(0.08)
  })
})

const strangers = () => ({
  ...{ strangers: [] as string[], followed: [] as string[], draws: true },
  ...{ accusations: [] as Accusation[], finding: { finding: 'open' } as { finding: Finding; what?: string } },
})

/** A node with one peer, whose audits end as a test says. */
function play(outcome: Partial<AuditedStep>, { head }: Pick<AuditResult, 'head'> = {}) {
  const state = { audits: 0, failures: [] as string[], isOn: true, now: 0, peers: ['a'], ...strangers() }
  const step: AuditedStep = {
    ...{ step: 7, outcome: 'passed', own: 1, foreign: 0, joined: 0, isReplaced: false },
    ...outcome,
  }
  const result: AuditResult = {
    ...{ peer: 'a', name: 'a', isOwn: false, steps: 4, audited: [step], build: '', ownBuild: '' },
    ...(head && { head }),
  }
  const rounds = createAuditRounds({
    audits: {
      async audit() {
        state.audits++
        return result
      },
      draws: () => state.draws,
      nextStranger: ([one]) => one,
      nextAccusation: (concerns) => state.accusations.filter(({ accused }) => concerns(accused)).pop(),
      check: async () => state.finding,
      repeat() {},
      async follow(peer) {
        state.followed.push(peer)
        return true
      },
    },
    heads: { newest: () => undefined, takeAudited() {} },
    isOn: () => state.isOn,
    peers: () => state.peers,
    strangers: () => state.strangers,
    onFailed: (peer, message) => void state.failures.push(`${peer}: ${message}`),
    random: () => 0.5,
    monotonic: () => state.now,
    log() {},
  })
  const settle = () => new Promise((resolve) => setImmediate(resolve))
  return { state, rounds, settle }
}

describe('a node', () => {
  test('refuses a peer that failed, and says why', async () => {
    const { state, rounds, settle } = play({ outcome: 'failed', detail: 'it moved the weights otherwise' })
    rounds.next()
    await settle()
    expect(state.failures).toEqual([expect.stringMatching(/^a: .*step 7: it moved the weights otherwise$/)])
  })

  test('refuses a peer whose weights do not follow from its receipt', async () => {
    const { state, rounds, settle } = play({}, { head: 'failed' })
    rounds.next()
    await settle()
    expect(state.failures).toHaveLength(1)
  })

  test.each(['unauditable', 'unserved', 'passed'] as const)('holds %s against nobody', async (outcome) => {
    const { state, rounds, settle } = play({ outcome, detail: 'why' })
    rounds.next()
    await settle()
    expect(state).toMatchObject({ audits: 1, failures: [] })
  })

  test('audits peers, and strangers by a time of their own', async () => {
    const { state, rounds, settle } = play({})
    state.strangers = ['s']
    for (let i = 0; i < 4; i++) {
      rounds.next()
      await settle()
    }
    expect(state).toMatchObject({ audits: 1, followed: ['s'] })
  })

  test('audits nobody while the budget is not for it', async () => {
    const { state, rounds, settle } = play({})
    state.draws = false
    for (; state.now < 60_000; state.now += 5000) {
      rounds.next()
      await settle()
    }
    expect(state.audits).toBe(0)
  })

  test('refuses a peer whose forged step another has found, and only if it counts here', async () => {
    const { state, rounds, settle } = play({})
    const told = { lineage: '', receipt: '', size: 1, step: 1, createdAt: 0, author: 'b' }
    state.accusations = ['a', 'unknown'].map((accused) => ({ ...told, accused }))
    state.finding = { finding: 'proved', what: 'step 7: it moved the weights otherwise' }
    rounds.next()
    await settle()
    expect(state.failures).toEqual([
      expect.stringMatching(/^a: .*step 7: it moved.*, proved by golden-lark$/),
    ])
  })

  test('audits one at a time, not while it is off, and not after it has closed', async () => {
    const { state, rounds, settle } = play({})
    rounds.next()
    rounds.next()
    await settle()
    expect(state.audits).toBe(1)
    state.now = 1e6
    state.isOn = false
    rounds.next()
    expect(state.audits).toBe(1)
    state.isOn = true
    await rounds.close()
    rounds.next()
    expect(state.audits).toBe(1)
  })
})
