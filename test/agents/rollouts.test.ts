// Rollouts of agents as a client of the gateway sees them, and the groups that come of them.

import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { TURN_MARK } from '../../protocol/plugin/index.ts'
import { hasSignal, isShareable, scoresOf } from '../../protocol/train/index.ts'
import { type TestGateway, TOKEN, testGateway } from './gateway.ts'

const user = (content: string) => ({ role: 'user', content })
let g: TestGateway
beforeEach(async () => {
  g = await testGateway({ write: (prompt, { seed }) => `said ${prompt.length} ${seed % 10}` })
})
afterEach(() => g.close())

/** A rollout with one call and a reward. */
async function play(value: number, body: object = { group: 'one' }) {
  const rollout = await g.open(body)
  const asked = { logprobs: true, return_token_ids: true }
  const { body: answer } = await g.chat(rollout, [user('hello')], asked)
  await g.reward(rollout, value)
  return { rollout, answer }
}

it('metadata comes back with the digits of its numbers', async () => {
  const metadata = '{"order":9007199254740993,"price":1.0}'
  const { body } = await g.post('/v1/rollouts', `{"task":"mine","metadata":${metadata}}`)
  const response = await fetch(`${g.url}/v1/rollouts/${body.id}`, {
    headers: { authorization: `Bearer ${TOKEN}` },
  })
  expect(await response.text()).toContain(`"metadata":${metadata}`)
})

describe('a group', () => {
  it('is complete when it has as many rewarded rollouts as a group has', async () => {
    await play(1)
    expect(g.groups).toEqual([])
    await play(0)
    expect(g.groups).toHaveLength(1)
    const group = g.groups[0]!
    expect(group.rollouts.map(({ reward }) => reward)).toEqual([1, 0])
    expect(hasSignal(group)).toBe(true)
    expect(g.info()).toMatchObject({ open: 0, begun: 0, rewarded: 2, groups: 1, dropped: {}, reward: 0.5 })
  })

  it('holds the tokens and log-probs that were sampled and sent', async () => {
    const played = [await play(1), await play(0)]
    const [group] = g.groups
    for (const [i, { answer }] of played.entries()) {
      const { tokens, behaviourLogprobs } = group!.rollouts[i]!
      expect([...tokens]).toEqual(answer.choices[0].token_ids)
      expect([...behaviourLogprobs!]).toEqual(
        answer.choices[0].logprobs.content.map(({ logprob }: { logprob: number }) => logprob),
      )
      expect([...group!.conditioning]).toEqual(answer.prompt_token_ids)
    }
  })

  it('is never shared: no peer can make its prompt again', async () => {
    await play(1)
    await play(0)
    expect(isShareable(g.groups[0]!)).toBe(false)
  })

  it('goes on with those that have a reward when its time is up, if they are two at least', async () => {
    await g.close()
    g = await testGateway({ write: () => 'x', groupSize: 4 })
    await play(1)
    await play(0)
    await g.open({ group: 'one' })
    await play(1, { group: 'alone' })
    await g.pass(61_000)
    expect(g.groups).toHaveLength(1)
    expect(g.groups[0]!.rollouts).toHaveLength(2)
    expect(g.info()).toMatchObject({ open: 0, begun: 0, dropped: { 'no reward': 1, 'group too small': 1 } })
  })

  it('begins anew when it is full, and a dropped rollout leaves its seat', async () => {
    const dead = await g.open({ group: 'one' })
    await g.pass(61_000)
    expect((await g.reward(dead, 1)).status).toBe(410)
    for (const value of [1, 0, 0, 1]) await play(value)
    expect(g.groups.map(({ rollouts }) => rollouts.map(({ reward }) => reward))).toEqual([
      [1, 0],
      [0, 1],
    ])
  })

  it('counts its age from the oldest answer in it', async () => {
    const first = await g.open({ group: 'one' })
    await g.chat(first, [user('hello')])
    g.engine.version = 7
    await g.chat(first, [user('again')])
    await g.reward(first, 1)
    await play(0)
    expect(g.groups[0]).toMatchObject({ bornVersion: 0, policy: { version: 0 } })
    expect(g.groups[0]!.rollouts.map(({ segments }) => segments[0]!.version)).toEqual([0, 7, 7])
  })

  it('leaves out rollouts of weights that were rolled back', async () => {
    g.throwAway(0)
    await play(1)
    g.engine.version = 1
    await play(0)
    expect(g.groups).toEqual([])
    expect(g.info().dropped).toEqual({ 'rolled back': 1, 'group too small': 1 })
  })

  it('of evaluation is counted and not trained on', async () => {
    await play(1, { group: 'one', mode: 'eval' })
    await play(0, { group: 'one', mode: 'eval' })
    expect(g.groups).toEqual([])
    expect(g.info()).toMatchObject({ rewarded: 2, evalReward: 0.5 })
    expect(g.info().reward).toBeUndefined()
  })
})

describe('turns', () => {
  const asked = [user('one')]
  async function converse(value: number, change = (content: string) => content) {
    const rollout = await g.open({ group: 'turns' })
    const messages: object[] = [...asked]
    for (const next of ['two', 'three']) {
      const { content } = (await g.chat(rollout, messages)).body.choices[0].message
      messages.push({ role: 'assistant', content: change(content) }, user(next))
    }
    await g.chat(rollout, messages)
    await g.reward(rollout, value)
  }

  it('are one sequence where each prompt continues the tokens before it, and only the answers are learnt', async () => {
    await converse(1)
    await converse(0)
    const { rollouts, conditioning } = g.groups[0]!
    expect(rollouts).toHaveLength(2)
    for (const rollout of rollouts) {
      const { tokens, lossMask, turns, behaviourLogprobs, text } = rollout
      expect(turns).toHaveLength(3)
      const mine = [...tokens].map((token, i) => (lossMask![i] ? token : -1))
      for (const { start, length } of turns!)
        expect(mine.slice(start, start + length)).toEqual([...tokens.subarray(start, start + length)])
      expect(lossMask!.reduce((a, b) => a + b, 0)).toBe(turns!.reduce((sum, { length }) => sum + length, 0))
      // All of it is what the template makes of the conversation.
      const whole = g.tokenizer.template!.render(
        [
          ...asked.map(({ content }) => ({ role: 'user' as const, content })),
          ...text
            .split(TURN_MARK)
            .flatMap((content, i) => [
              { role: 'assistant' as const, content },
              ...(['two', 'three'][i] ? [{ role: 'user' as const, content: ['two', 'three'][i]! }] : []),
            ]),
        ],
        { prompt: false },
      )
      expect([...conditioning, ...tokens]).toEqual([...g.tokenizer.encode(whole.trimEnd())])
      expect(
        [...behaviourLogprobs!].every((logprob, i) => (lossMask![i] ? logprob < 0 : logprob === 0)),
      ).toBe(true)
    }
  })

  it('whose history the agent rewrote are rows of their own with the same reward, and count once', async () => {
    await converse(1, (content) => `${content}!`)
    await converse(0)
    const { rollouts } = g.groups[0]!
    expect(rollouts.map(({ reward }) => reward)).toEqual([1, 1, 1, 0])
    expect(rollouts.map(({ episode }) => episode)).toEqual([0, 0, 0, undefined])
    expect(scoresOf(g.groups[0]!)).toEqual([1, 0])
    expect(rollouts[1]!.conditioning!.length).toBeGreaterThan(g.groups[0]!.conditioning.length)
  })

  it('that branch share their beginning, and each answer is learnt once', async () => {
    const rollout = await g.open({ group: 'branch' })
    const { content } = (await g.chat(rollout, asked)).body.choices[0].message
    for (const next of ['left', 'right'])
      await g.chat(rollout, [...asked, { role: 'assistant', content }, user(next)])
    await g.reward(rollout, 1)
    await play(0, { group: 'branch' })
    const rows = g.groups[0]!.rollouts
    expect(rows).toHaveLength(3)
    expect(rows.map(({ turns }) => turns?.length)).toEqual([2, 1, undefined])
  })
})

describe('a reward', () => {
  it('counts once: again is fine, another one is a conflict', async () => {
    const rollout = await g.open({ group: 'one' })
    await g.chat(rollout, [user('hello')])
    expect((await g.reward(rollout, 1)).status).toBe(200)
    expect((await g.reward(rollout, 1)).status).toBe(200)
    const { status, body } = await g.reward(rollout, 0.5)
    expect(status).toBe(409)
    expect(body.error.message).toMatch(/already has the reward 1/)
    expect(g.info().rewarded).toBe(1)
  })

  it.each([['"NaN"'], ['1e308'], ['null'], ['"1"'], ['-1001'], ['[1]'], ['{}']])(
    'of %s is refused and nothing is lost',
    async (value) => {
      const rollout = await g.open({ group: 'one' })
      await g.chat(rollout, [user('hello')])
      const { status, body } = await g.post(`/v1/rollouts/${rollout.id}/reward`, `{"value":${value}}`)
      expect(status).toBe(400)
      expect(body.error.message).toMatch(/"value" must be a number from -1000 to 1000/)
      expect((await g.reward(rollout, 1)).status).toBe(200)
    },
  )

  it('of several parts is kept for estimators of several rewards', async () => {
    for (const value of [1, 0]) {
      const rollout = await g.open({ group: 'one' })
      await g.chat(rollout, [user('hello')])
      await g.reward(rollout, { value, parts: { right: value, short: 0.5 } })
    }
    expect(g.groups[0]!.rollouts[0]!.rewardParts).toEqual({ right: 1, short: 0.5 })
  })

  it('that comes late is told so, and the rollout was dropped and not scored 0', async () => {
    const rollout = await g.open({ group: 'one' })
    await g.chat(rollout, [user('hello')])
    await g.pass(61_000)
    const { status, body } = await g.reward(rollout, 1)
    expect(status).toBe(410)
    expect(body.error.message).toMatch(/had no reward 60 s after it was opened/)
    expect(g.info()).toMatchObject({ rewarded: 0, dropped: { 'no reward': 1 } })
  })

  it('without any call brings nothing to learn', async () => {
    const rollout = await g.open({ group: 'one' })
    await g.reward(rollout, 1)
    await play(0)
    await play(1)
    expect(g.groups[0]!.rollouts).toHaveLength(2)
    expect(g.info().dropped).toEqual({ 'no calls': 1 })
  })
})

describe('finish', () => {
  it('ends the calls, waits for the reward, and takes no other state', async () => {
    const rollout = await g.open({ group: 'one' })
    await g.chat(rollout, [user('hello')])
    const finish = (state: string) => g.post(`/v1/rollouts/${rollout.id}/finish`, { state })
    expect((await finish('failed')).body).toMatchObject({ state: 'finished', outcome: 'failed' })
    expect((await g.chat(rollout, [user('more')])).status).toBe(410)
    expect((await finish('succeeded')).status).toBe(409)
    expect((await g.reward(rollout, 0)).body).toMatchObject({ state: 'rewarded', outcome: 'failed' })
  })
})

describe('opening', () => {
  it('waits for room, and is told to come back if there is none', async () => {
    g.setRoom(false)
    const asked = g.arrival()
    const first = g.post('/v1/rollouts', { group: 'one' })
    await asked
    g.setRoom(true)
    expect((await first).status).toBe(200)
    g.setRoom(false)
    // Its group is begun already, so it needs no room.
    expect((await g.post('/v1/rollouts', { group: 'one' })).status).toBe(200)
    const again = g.arrival()
    const second = g.post('/v1/rollouts', { group: 'two' })
    await again
    await g.pass(20_000)
    const { status, headers } = await second
    expect(status).toBe(429)
    expect(headers.get('retry-after')).toBe('5')
  })

  it('finds room that groups took whose clients have died, long before their deadline', async () => {
    g.setRoom((active) => active < 2)
    for (const group of ['one', 'two']) await g.open({ group })
    const third = g.post('/v1/rollouts', { group: 'three' })
    for (let second = 0; second < 16; second++) await g.pass(1000)
    expect((await third).status).toBe(200)
    expect(g.info()).toMatchObject({ open: 3, begun: 3, dropped: {} })
  })

  it('a flood of rollouts gets 429 until some have ended', async () => {
    const all = await Promise.all(
      Array.from({ length: 200 }, (_, i) => g.post('/v1/rollouts', { group: `g${i}` })),
    )
    expect(all.filter(({ status }) => status === 200)).toHaveLength(64)
    expect(all.filter(({ status }) => status === 429)).toHaveLength(136)
    await g.pass(61_000)
    expect((await g.post('/v1/rollouts', {})).status).toBe(200)
    expect(g.info().dropped).toEqual({ 'no reward': 64 })
  })
})

it('metadata keeps the digits of its numbers', async () => {
  const { body } = await g.post('/v1/rollouts', '{"metadata": {"order": 9007199254740993, "ratio": 1.0}}')
  const response = await fetch(`${g.url}/v1/rollouts/${body.id}`, {
    headers: { authorization: `Bearer ${TOKEN}` },
  })
  expect(await response.text()).toContain('{"order":9007199254740993,"ratio":1.0}')
})
