import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { loadModel } from '../../daemon/policy/model.ts'
import { codecOf } from '../../daemon/policy/tokens/codec.ts'
import { scorePrompts } from '../../daemon/rollout/evaluation/evaluate.ts'
import { createTaskBook } from '../../daemon/rollout/tasks.ts'
import { nodeDisk as disk } from '../../daemon/store/node-disk.ts'
import frozenLake from '../../plugins/tasks/environments/frozen-lake.ts'
import keysAndDoors from '../../plugins/tasks/environments/keys-and-doors.ts'
import type { ComposeView, Hooks } from '../../protocol/plugin/index.ts'
import {
  readTranscript,
  type TranscriptCodec,
  TURN_MARK,
  writeTranscript,
} from '../../protocol/plugin/index.ts'
import type { Group, Instance, Rollout } from '../../protocol/train/index.ts'
import { HELD_OUT_SEED } from '../../protocol/train/index.ts'
import { createLocalEngine } from '../../scripts/lab/nodes/engine.ts'
import { writeGroups } from '../../scripts/lab/nodes/write-groups.ts'
import { characterTokenizer } from './characters.ts'
import { play, plugin } from './play.ts'
import { createScriptedEngine } from './scripted-engine.ts'

const task = keysAndDoors
const at = (seed: number) => ({ task: task.name, taskVersion: task.version, seed, difficulty: 0 })
const KNOWN = [0, 1, 2, 3, HELD_OUT_SEED, HELD_OUT_SEED + 1].map((seed) => task.generate(at(seed)))
const instanceIn = (prompt: string): Instance => KNOWN.find(({ question }) => prompt.includes(question))!
const turnOf = (prompt: string): number => (prompt.match(/\d,\d /g) ?? []).length

/** Walks the best way; every third seed dithers at its second turn, every seventh says something else for ever. */
function walk(prompt: string, { seed }: { seed: number }): string {
  const way = instanceIn(prompt).key.split(TURN_MARK)
  // Each turn has a seed of its own, so the rollout's is in what it said first.
  const said = /\[(\d+)\]/.exec(prompt)?.[1]
  const who = said === undefined ? seed : Number(said)
  const turn = turnOf(prompt)
  if (turn === 0) return `[${seed}]\n${way[0]}`
  if (who % 7 === 6) return 'I wonder'
  const late = who % 3 === 2
  return late && turn === 1 ? 'hm' : `<answer>${way[turn - (late ? 1 : 0)] ?? 'U'}</answer>`
}

const picker = () => {
  let next = 0
  return {
    select: (view: { rollouts: number }, want: number) =>
      Array.from({ length: want }, () => ({ prompt: at(next++ % 4), rollouts: view.rollouts })),
  }
}

const playing = (hooks: Hooks = {}, more: object = {}, kind: 'control' | 'skill' = 'control') =>
  play({
    write: walk,
    tasks: [task],
    chosen: [{ name: task.name, difficulty: 0 }],
    groupSize: 8,
    maxNewTokens: 400,
    context: 600,
    plugins: [
      plugin('doors', 'selector', picker(), { claims: ['picker'] }),
      plugin('other', kind, hooks, hooks.steer ? { claims: ['flow'], needs: ['park'] } : {}),
    ],
    host: {
      selector: { use: 'doors' },
      [kind === 'control' ? 'controls' : 'skills']: [{ use: 'other' }],
    },
    ...more,
  })

const tokenizer = characterTokenizer()
const codec: TranscriptCodec = { ...tokenizer, decodeCompletion: tokenizer.decodeCompletion }
const partsOf = (group: Group) => ({ environment: task.environment!, instance: task.generate(group.prompt) })
const each = (groups: readonly Group[], run: (rollout: Rollout, group: Group) => void): void => {
  for (const group of groups) for (const rollout of group.rollouts) run(rollout, group)
}

describe('an episode', () => {
  test('is one completion: answers to learn from, with the environment’s messages between them', async () => {
    const { groups } = await (await playing()).round()
    const scores = new Set<number>()
    each(groups, (rollout, group) => {
      const { tokens, lossMask, behaviourLogprobs, entropies, turns, segments, reward } = rollout
      scores.add(reward)
      expect(reward).toBe(task.verify(task.generate(group.prompt), rollout.text).score)
      expect(turns!.reduce((sum, turn) => sum + turn.reward, 0)).toBeCloseTo(reward, 9)
      expect(segments).toEqual([{ version: 0, start: 0, length: tokens.length }])
      turns!.forEach(({ start, length, observation }, i) => {
        const before = i === 0 ? 0 : turns![i - 1]!.start + turns![i - 1]!.length
        expect([...tokens.subarray(before, start)]).toEqual(
          i === 0 ? [] : [...tokenizer.encodeReply(observation)],
        )
        expect(tokens[start + length - 1]).toBe(0)
      })
      const own = new Uint8Array(tokens.length)
      for (const { start, length } of turns!) own.fill(1, start, start + length)
      expect(lossMask).toEqual(own)
      own.forEach((mask, i) => {
        expect(behaviourLogprobs![i] === 0).toBe(mask === 0)
        expect(entropies![i] === 0).toBe(mask === 0)
      })
    })
    expect(scores).toContain(1)
    expect(Math.min(...scores)).toBeLessThan(1)
    expect(groups[0]!.rollouts[0]!.turns![0]).toMatchObject({
      observation: task.generate(at(0)).question,
      start: 0,
    })
  })

  test('can be told from its tokens, and from its text alone', async () => {
    const { groups } = await (await playing()).round()
    each(groups, ({ text, tokens, finish, lossMask, turns, reward }, group) => {
      const expected = { text, tokens, lossMask, turns, score: reward }
      expect(readTranscript(partsOf(group), tokens, codec)).toEqual(expected)
      expect(writeTranscript(partsOf(group), { text, finish }, codec)).toEqual(expected)
      // One word put into the environment's mouth, a turn after the end, an end in the middle of what it says.
      const forged = tokens.slice()
      forged[turns![1]!.start - 3]! += 1
      expect(readTranscript(partsOf(group), forged, codec)).toBeUndefined()
      const longer = Int32Array.from([...tokens, ...tokenizer.encodeReply('x'), ...tokenizer.encode('U'), 0])
      expect(readTranscript(partsOf(group), longer, codec)).toBeUndefined()
      expect(readTranscript(partsOf(group), tokens.subarray(0, turns![1]!.start), codec)).toBeUndefined()
      expect(readTranscript(partsOf(group), new Int32Array(), codec)).toBeUndefined()
    })
  })

  test('takes a call of the engine a turn, with all episodes side by side in it', async () => {
    const one = await playing()
    const { groups } = await one.round()
    const turns = groups.flatMap(({ rollouts }) => rollouts.map((rollout) => rollout.turns!.length))
    expect(one.engine.requests.length).toBe(Math.max(...turns))
    expect(one.engine.requests.map(({ samples }) => samples.length)).toEqual(
      one.engine.requests.map((_, i) => turns.filter((count) => count > i).length),
    )
  })

  test('has one limit of tokens, including those that the environment shows', async () => {
    const { groups } = await (await playing({}, { maxNewTokens: 40 })).round()
    const finishes = new Set<string>()
    each(groups, ({ tokens, finish, lossMask, turns }, group) => {
      expect(tokens.length).toBeLessThanOrEqual(40)
      expect(lossMask!.at(-1)).toBe(1)
      finishes.add(finish)
      expect(readTranscript(partsOf(group), tokens, codec)!.turns).toEqual(turns)
    })
    expect(finishes).toContain('length')
  })

  test('may get more text from a plugin at every turn, and is then not shared', async () => {
    const seen: ComposeView[] = []
    const skill: Hooks = {
      compose(view) {
        seen.push(view)
        if (view.turn !== 1) return undefined
        return { before: 'Mind the door. ', arm: 'skill', tainted: false }
      },
    }
    const { groups } = await (await playing(skill, {}, 'skill')).round()
    const later = seen.filter(({ turn }) => turn === 2)
    expect(later.length).toBeGreaterThan(0)
    expect(later[0]!.turns).toHaveLength(2)
    expect(later[0]!.observation).toMatch(/^\d,\d /)
    each(groups, ({ tokens, turns }, group) => {
      expect(group.arm).toBe('skill')
      const shown = tokens.subarray(turns![0]!.length, turns![1]!.start)
      expect(tokenizer.decodeCompletion(shown)).toBe(`Mind the door. ${turns![1]!.observation}`)
    })
  })

  test('that was parked in the middle continues exactly as without parking', async () => {
    const whole = (await (await playing()).round({ want: 2 })).groups
    const parking: Hooks = {
      steer: (live, { version }) =>
        new Map(
          live
            .filter(({ tokens, done }) => !done && tokens > 25 * (version + 1))
            .map(({ id }) => [id, 'park' as const]),
        ),
    }
    const one = await playing(parking, { maxStaleness: 100 })
    const landed: Group[] = []
    const isOfFirstRound = ({ bornVersion }: Group) => bornVersion === 0
    for (let version = 0; landed.length < 2 && version < 60; version++)
      landed.push(...(await one.round({ version, want: 2 })).groups.filter(isOfFirstRound))
    expect(landed).toHaveLength(2)
    const plain = (group: Group) => group.rollouts.map(({ segments: _, ...rest }) => rest)
    for (const group of landed) {
      const same = whole.find(({ prompt }) => prompt.seed === group.prompt.seed)!
      expect(plain(group)).toEqual(plain(same))
      expect(Math.max(...group.rollouts.map(({ segments }) => segments.length))).toBeGreaterThan(2)
    }
  })

  test('may be cut between two answers, or in the middle of one, and is verified as far as it got', async () => {
    for (const least of [1, 3, 20]) {
      const cutting: Hooks = {
        steer: (live) =>
          new Map(
            live.filter(({ tokens, done }) => !done && tokens >= least).map(({ id }) => [id, 'cut' as const]),
          ),
      }
      const { groups } = await (await playing(cutting)).round()
      each(groups, ({ tokens, text, finish, turns, lossMask, reward }, group) => {
        expect(tokens.length).toBeLessThan(least + 30)
        expect(['aborted', 'stop']).toContain(finish)
        expect(lossMask!.at(-1)).toBe(1)
        const told = readTranscript(partsOf(group), tokens, codec)
        expect(told).toEqual({ text, tokens, lossMask, turns, score: reward })
      })
    }
  })

  test('goes on after the node stopped, wherever it was', async () => {
    const whole = (await (await playing()).round({ want: 2 })).groups
    for (const least of [1, 5, 23]) {
      const stopping = new AbortController()
      const stop: Hooks = {
        steer(live) {
          if (live.some(({ tokens }) => tokens >= least)) stopping.abort()
          return new Map()
        },
      }
      const one = await playing(stop)
      const { groups } = await one.round({ want: 2, signal: stopping.signal })
      expect(groups.length + one.parked.length).toBe(2)
      const rest = await one.round({ want: 2 - groups.length })
      const texts = ({ rollouts }: Group) => rollouts.map(({ text, reward }) => [text, reward])
      expect([...groups, ...rest.groups].map(texts)).toEqual(whole.map(texts))
    }
  })

  test('is evaluated by playing it', async () => {
    const engine = createScriptedEngine({ tokenizer, write: walk })
    const tasks = createTaskBook([task], [{ name: task.name, difficulty: 0 }])
    const [scores] = await scorePrompts(
      { promptsPerTask: 2, maxNewTokens: 400, samples: 4 },
      { sampler: engine, tokenizer, tasks },
    )
    expect(scores!.sampled.flat().filter((score) => score === 1).length).toBeGreaterThan(4)
    expect(scores!.greedy).toEqual([1, 1])
  })
})

test('the default model plays whole rounds of both environments', async () => {
  const model = await loadModel(fileURLToPath(new URL('../../models/default', import.meta.url)), { disk })
  const engine = createLocalEngine({ threads: 1 })
  await engine.open({ ...model, version: 2 })
  const both = [frozenLake, keysAndDoors]
  const tasks = createTaskBook(
    both,
    both.map(({ name }) => ({ name })),
  )
  const { groups } = await writeGroups(
    {
      asks: both.map(({ name, version }) => ({
        prompt: { task: name, taskVersion: version, seed: 5, difficulty: 0 },
        rollouts: 4,
      })),
      policy: { lineage: model.digest, tokenizer: model.tokenizer.digest, version: 2 },
      maxNewTokens: 160,
      context: model.spec.contextLength,
      temperature: 1,
      author: 'me',
      sampleSeed: (index) => 11 * index,
      now: () => 0,
    },
    { sampler: engine, tokenizer: model.tokenizer, tasks },
  )
  const modelCodec = { ...codecOf(model.tokenizer, model.spec.vocabulary) }
  let turns = 0
  for (const { prompt, rollouts, conditioning } of groups) {
    const { environment, generate } = tasks.find(prompt.task, prompt.taskVersion)!
    const scores = await engine.score({
      sequences: rollouts.map(({ tokens }) => ({ conditioning, completion: tokens })),
      temperature: 1,
    })
    for (const [i, rollout] of rollouts.entries()) {
      turns = Math.max(turns, rollout.turns!.length)
      const { text, tokens, lossMask, reward } = rollout
      const told = readTranscript(
        { environment: environment!, instance: generate(prompt) },
        tokens,
        modelCodec,
      )
      // Special tokens that a policy draws inside an answer are refused, as for any task.
      if (told) expect(told).toEqual({ text, tokens, lossMask, turns: rollout.turns, score: reward })
      lossMask!.forEach((own, token) => {
        const far = Math.abs(rollout.behaviourLogprobs![token]! - scores[i]!.logprobs[token]!)
        if (own) expect(far).toBeLessThan(1e-4)
      })
    }
  }
  expect(turns).toBeGreaterThan(1)
  await engine.close()
})
