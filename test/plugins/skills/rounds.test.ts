// Skill libraries through whole rounds of the daemon, with its plugin host, on a scripted engine.

import { expect, test } from 'vitest'
import none from '../../../plugins/estimators/none.ts'
import { SKILLS } from '../../../plugins/skills/index.ts'
import basicArithmetic from '../../../plugins/tasks/arithmetic/basic-arithmetic.ts'
import keysAndDoors from '../../../plugins/tasks/environments/keys-and-doors.ts'
import { TURN_MARK } from '../../../protocol/plugin/index.ts'
import { keyOf, sums } from '../../rollout/answers.ts'
import { characterTokenizer } from '../../rollout/characters.ts'
import { type PlayOptions, play, plugin } from '../../rollout/play.ts'

const right = (prompt: string): string => `<answer>${keyOf(prompt)}</answer>`
const picker = () => plugin('sums', 'selector', sums(), { claims: ['picker'] })
const playing = (use: string, write: PlayOptions['write'], more: Partial<PlayOptions> = {}) =>
  play({
    write,
    context: 2048,
    maxNewTokens: 200,
    plugins: [picker(), ...SKILLS],
    ...more,
    host: { selector: { use: 'sums' }, skills: [{ use }], ...more.host },
  })

test('a chain’s second prompt shows what its own first rollout wrote, and rewards its use', async () => {
  const node = await playing('sage_chain', (prompt, { seed }) =>
    prompt.includes('Your own skills')
      ? `by ${/- (way_\w+):/.exec(prompt)![1]} ${right(prompt)}`
      : `<skill name="way_${String.fromCharCode(97 + (seed % 26))}">add from the left</skill> ${right(prompt)}`,
  )
  const { groups } = await node.round()
  expect(groups.map(({ rollouts }) => rollouts.length)).toEqual([4, 4, 4, 4])
  expect(groups.flatMap(({ rollouts }) => rollouts.map(({ reward }) => reward))).toEqual(Array(16).fill(2))
  const seen = groups[2]!.rollouts.map(({ conditioning }) => conditioning!.join())
  expect(new Set(seen).size).toBe(4)
  const advantages = await node.host.batch({ step: 0 }).advantage(groups)
  expect(advantages.flat()).toEqual(Array(16).fill(0))
  expect(node.troubles).toEqual([])
})

test('Training-Free GRPO writes its list from a round and shows it in the next, and nothing is updated', async () => {
  const edits = JSON.stringify([{ operation: 'ADD', content: 'when adding, go from the left' }])
  const node = await playing(
    'training_free_grpo',
    (prompt, { seed }) => {
      if (prompt.includes('JSON list of edits')) return edits
      return seed % 2 === 0 ? right(prompt) : 'wrong'
    },
    { plugins: [picker(), none, ...SKILLS], host: { estimator: { use: 'none' } } },
  )
  expect((await node.round()).groups.map(({ arm }) => arm)).toEqual(['base', 'base'])
  const { groups } = await node.round()
  expect(groups.map(({ arm, tainted }) => [arm, tainted ?? false])).toEqual([
    ['experience', false],
    ['experience', false],
  ])
  expect(node.host.updates).toBe(false)
  expect(node.troubles).toEqual([])
})

test('Training-Free GRPO is refused beside an estimator that updates', async () => {
  await expect(playing('training_free_grpo', right)).rejects.toThrow(/estimator.none/)
})

test('SLEA-RL looks its library up for every question once it is there', async () => {
  const words = [
    'amber',
    'bold',
    'crane',
    'dove',
    'eager',
    'finch',
    'gecko',
    'heron',
    'ibex',
    'jolly',
    'kite',
    'lark',
  ]
  let written = 0
  const node = await playing('slea', (prompt, { seed }) => {
    if (prompt.includes('Say what it teaches')) {
      const next = () => Array.from({ length: 4 }, () => `${words[written++ % 11]}${written}`).join(' ')
      return `principle: ${next()}\nmethod: ${next()}\nmistake: ${next()}`
    }
    return seed % 2 === 0 ? right(prompt) : 'wrong'
  })
  const arms = []
  for (let i = 0; i < 6; i++) arms.push((await node.round()).groups[0]?.arm)
  expect(arms).toEqual(['base', 'base', 'base', 'base', 'base', 'skill'])
  expect(node.troubles).toEqual([])
})

test('ARISE writes and tries skills within a round, and evaluation leaves its library as it is', async () => {
  const skill = JSON.stringify({
    skill_name: 'add_left',
    problem_type: 'algebra',
    key_insight: 'add from the left',
    method: ['take two numbers', 'add them'],
    check: 'subtract again',
  })
  const node = await playing('arise', (prompt, { seed }) => {
    if (prompt.includes('one JSON object')) return skill
    return prompt.includes('SKILL') || seed % 2 === 0 ? right(prompt) : 'wrong'
  })
  await node.round()
  const [state] = await node.host.save()
  const text = new TextDecoder().decode(state!.bytes)
  expect(text).toContain('add_left')
  const evaluation = await node.host.evaluation({ step: 0 })
  const prompt = {
    task: 'basic_arithmetic',
    taskVersion: basicArithmetic.version,
    seed: 2 ** 31,
    difficulty: 0,
  }
  await evaluation.compose({ prompt, question: 'q', turn: 0 })
  expect(await node.host.save()).toEqual([state])
  expect(node.troubles).toEqual([])
})

test('SLEA-RL shows what it has at every turn, and compares turns that were in the same state', async () => {
  const at = { task: keysAndDoors.name, taskVersion: keysAndDoors.version, seed: 0, difficulty: 0 }
  const way = keysAndDoors.generate(at).key.split(TURN_MARK)
  let lines = 0
  const node = await play({
    // Every other rollout, as it says itself at first, wanders instead of walking.
    write(prompt, { seed }) {
      if (prompt.includes('Say what it teaches'))
        return `method: ${['up', 'down', 'left', 'right', 'back'][lines++ % 5]} goes first`
      const plain = prompt.replace(/<notes>[\s\S]*?<\/notes>/g, '')
      const turn = (plain.match(/\d,\d /g) ?? []).length
      if (turn === 0) return `[${seed}]\n${way[0]}`
      return Number(/\[(\d+)\]/.exec(plain)![1]) % 2 === 0 ? `<answer>${way[turn] ?? 'U'}</answer>` : 'hm'
    },
    tasks: [keysAndDoors],
    chosen: [{ name: keysAndDoors.name, difficulty: 0 }],
    want: 1,
    maxNewTokens: 1500,
    context: 4000,
    plugins: [
      plugin(
        'one',
        'selector',
        { select: ({ rollouts }) => [{ prompt: at, rollouts }] },
        { claims: ['picker'] },
      ),
      ...SKILLS,
    ],
    host: { selector: { use: 'one' }, skills: [{ use: 'slea', warmUp: 1, smallest: 1 }] },
  })
  await node.round()
  const [group] = (await node.round()).groups
  const episode = group!.rollouts.find(({ reward }) => reward === 1)!
  const written = characterTokenizer().decodeCompletion(episode.tokens)
  expect(group!.arm).toBe('skill')
  expect(written.match(/goes first/g)!.length).toBeGreaterThan(1)
  const [row] = await node.host.batch({ step: 0 }).advantage([group!])
  const values = row![group!.rollouts.indexOf(episode)] as Float32Array
  const [first, second] = episode.turns!
  // Alike in the first turn, better than the others who stood there in the second.
  expect(values[first!.start]).toBeGreaterThan(0)
  expect(values[second!.start]).toBeGreaterThan(values[second!.start - 1]!)
  expect(node.troubles).toEqual([])
})
