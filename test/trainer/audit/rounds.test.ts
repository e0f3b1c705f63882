// Whom a node audits and when, and what it does about what comes out.

import { describe, expect, test } from 'vitest'
import { randomStream } from '../../../daemon/host/random.ts'
import { createAuditRounds } from '../../../daemon/node/audits/rounds.ts'
import { createAuditSchedule } from '../../../daemon/trainer/audit/schedule.ts'
import type { AuditedStep, AuditResult } from '../../../protocol/api/index.ts'

describe('the schedule', () => {
  test('audits a newcomer more often than a peer that has passed', () => {
    const schedule = createAuditSchedule({}, { random: randomStream(1, 'audits') })
    for (let i = 0; i < 9; i++) schedule.ended('old', { seconds: 0, isPassed: true }, -1e6)
    const drawn = Array.from({ length: 1000 }, () => schedule.next(['old', 'new'], 0))
    // Chances are 1/10 and 1.
    expect(drawn.filter((peer) => peer === 'old').length).toBeGreaterThan(60)
    expect(drawn.filter((peer) => peer === 'old').length).toBeLessThan(125)
  })

  test('takes a twentieth of the time at most', () => {
    const schedule = createAuditSchedule({}, { random: () => 0 })
    let [now, spent] = [0, 0]
    for (let i = 0; i < 50; i++) {
      while (schedule.next(['a'], now) === undefined) now += 1000
      spent += 3
      now += 3000
      schedule.ended('a', { seconds: 3, isPassed: true }, now)
    }
    while (schedule.next(['a'], now) === undefined) now += 1000
    expect(spent / (now / 1000)).toBeLessThanOrEqual(0.05)
    expect(spent / (now / 1000)).toBeGreaterThan(0.04)
  })

  test('audits nobody where there is nobody', () => {
    expect(createAuditSchedule({}, { random: () => 0.5 }).next([], 0)).toBeUndefined()
  })
})

const strangers = () => ({ strangers: [] as string[], followed: [] as string[] })

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
      nextStranger: ([one]) => one,
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
