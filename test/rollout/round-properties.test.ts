// Whatever plugins do in it, a round keeps its promises: every token is what the policy wrote, with its own log-prob and
// version; nothing is lost or written twice; rewards are the verifier's; nobody overspends. Plugins here decide at random,
// by seed.

import { expect, test } from 'vitest'
import keysAndDoors from '../../plugins/tasks/environments/keys-and-doors.ts'
import { TASKS } from '../../plugins/tasks/index.ts'
import { diceFor } from '../../plugins/tasks/random.ts'
import type { Hooks, Request, Steering } from '../../protocol/plugin/index.ts'
import type { Group } from '../../protocol/train/index.ts'
import { answer } from './answers.ts'
import { characterTokenizer } from './characters.ts'
import { play, plugin } from './play.ts'

const BUDGET = 900
const tokenizer = characterTokenizer()
const [sum] = TASKS

/** Sums in words of many lengths, and moves that are right now and then. */
function write(prompt: string, at: { seed: number }): string {
  if (!prompt.includes('S to G')) return `${'well '.repeat(at.seed % 11)}${answer(prompt, at)}`
  return `${'hm '.repeat(at.seed % 3)}${'\n'}${'UDLR?'[at.seed % 5]}`
}

function chaos(seed: number) {
  const dice = diceFor(`chaos ${seed}`)
  let next = 0
  const wishes: Steering[] = ['keep', 'keep', 'keep', 'keep', 'park', 'cut', 'drop']
  const hooks: Hooks = {
    oversample: (want) => want + dice.below(3),
    steer(live) {
      const chosen = live.map(({ id }) => [id, dice.oneIn(4) ? dice.pick(wishes) : 'keep'] as const)
      return new Map(chosen)
    },
  }
  const hints: Hooks = {
    compose: ({ turn }) =>
      dice.oneIn(3) ? { before: `Hint ${turn}. `, arm: 'hint', tainted: dice.oneIn(2) } : undefined,
    extend({ groups, asked }): Request[] {
      if (asked > 3 || groups.length === 0) return []
      return Array.from({ length: dice.below(3) }, (_, i) => ({
        id: `${asked}.${i}`,
        prompt: dice.pick(groups).prompt,
        rollouts: dice.between(1, 3),
        keep: dice.oneIn(2) ? 'train' : 'probe',
        ...(dice.oneIn(2) ? { into: 'all' } : {}),
      }))
    },
    group: (groups, { at }) => (at === 'round' && dice.oneIn(3) ? groups.slice(1) : groups),
  }
  const picker: Hooks = {
    select: ({ rollouts }, want) =>
      Array.from({ length: want }, () => {
        const task = dice.oneIn(2) ? keysAndDoors : sum!
        return {
          prompt: { task: task.name, taskVersion: task.version, seed: next++, difficulty: 0 },
          rollouts,
        }
      }),
  }
  return { hooks, hints, picker }
}

test.each(Array.from({ length: 24 }, (_, seed) => seed))(
  'with plugins that decide at random (%i)',
  async (seed) => {
    const { hooks, hints, picker } = chaos(seed)
    const playing = await play({
      write,
      tasks: [sum!, keysAndDoors],
      chosen: [
        { name: sum!.name, difficulty: 0 },
        { name: keysAndDoors.name, difficulty: 0 },
      ],
      groupSize: 3,
      want: 3,
      maxNewTokens: 90,
      context: 400,
      maxStaleness: 3,
      plugins: [
        plugin('chaos', 'selector', picker, { claims: ['picker'] }),
        plugin('flow', 'control', hooks, { claims: ['flow'], needs: ['park'] }),
        plugin('hints', 'hint', hints, { budget: () => ({ tokens: BUDGET }) }),
      ],
      host: { selector: { use: 'chaos' }, controls: [{ use: 'flow' }], hints: [{ use: 'hints' }] },
    })
    const seen = new Set<string>()
    for (let version = 0; version < 5; version++) {
      const before = playing.engine.drawn
      const { groups, tokens } = await playing.round({ version })
      expect(playing.troubles).toEqual([])
      expect(tokens).toBe(playing.engine.drawn - before)
      const asked = groups.filter(({ origin }) => origin?.request !== undefined)
      const spent = asked
        .flatMap(({ rollouts }) => rollouts)
        .reduce((total, one) => total + ownTokens(one), 0)
      expect(spent).toBeLessThanOrEqual(BUDGET)
      for (const group of groups) check(group, version, seen)
    }
  },
)

const ownTokens = ({ tokens, lossMask }: Group['rollouts'][number]): number =>
  lossMask ? lossMask.reduce((total, own) => total + own, 0) : tokens.length

function check(group: Group, version: number, seen: Set<string>): void {
  const task = group.prompt.task === sum!.name ? sum! : keysAndDoors
  const instance = task.generate(group.prompt)
  expect(group.rollouts.length).toBeGreaterThan(0)
  if (group.origin?.request === undefined) {
    const name = `${group.prompt.task} ${group.prompt.seed}`
    expect(seen.has(name)).toBe(false)
    seen.add(name)
  }
  for (const rollout of group.rollouts) {
    const { tokens, text, finish, segments, reward, behaviourLogprobs, entropies, lossMask, turns } = rollout
    expect(reward).toBe(task.verify(instance, text).score)
    expect(tokens.length).toBeLessThanOrEqual(90)
    expect([behaviourLogprobs!.length, entropies!.length]).toEqual([tokens.length, tokens.length])
    let start = 0
    for (const segment of segments) {
      expect(segment.start).toBe(start)
      expect(segment.version).toBeLessThanOrEqual(version)
      expect(segment.version).toBeGreaterThanOrEqual(Math.max(0, version - 3))
      start += segment.length
    }
    expect(start).toBe(tokens.length)
    expect(segments.map((one) => one.version)).toEqual(
      segments.map((one) => one.version).sort((a, b) => a - b),
    )
    expect(Math.min(...segments.map((one) => one.version))).toBeGreaterThanOrEqual(group.bornVersion)
    if (finish === 'stop') expect(tokens.at(-1)).toBe(0)
    if (!turns) {
      expect(tokenizer.decodeCompletion(tokens)).toBe(text)
      continue
    }
    expect(lossMask!.at(-1)).toBe(1)
    const answers = turns.map((turn) =>
      tokenizer.decodeCompletion(tokens.subarray(turn.start, turn.start + turn.length)),
    )
    expect(answers.join('\u241e')).toBe(text)
  }
}
