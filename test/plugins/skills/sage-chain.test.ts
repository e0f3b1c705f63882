import { describe, expect, it } from 'vitest'
import grpo from '../../../plugins/estimators/normalised/grpo.ts'
import { chainRewards, skillsIn, usesOneOf } from '../../../plugins/skills/sage/chains.ts'
import sageChain from '../../../plugins/skills/sage/sage-chain.ts'
import type { Hooks, Request } from '../../../protocol/plugin/index.ts'
import type { Group, Rollout } from '../../../protocol/train/index.ts'
import { sampled, viewAt } from '../replay/samples.ts'
import { withSettings } from '../samples.ts'
import { answerTo, contextWith, keyOf, visit } from './samples.ts'

const context = contextWith()
const skill = (name: string, text = 'add from the left') => `<skill name="${name}">${text}</skill>`

describe('chain rewards', () => {
  const whole = (right: number, used = 0) => ({ right: right === 1, whole: true, used: used === 1 })

  it.each([
    [1, 1, 1, 2, 2],
    [1, 1, 0, 1, 1],
    [1, 0, 1, 1, 0],
    [0, 1, 1, 0, 2],
    [0, 1, 0, 0, 1],
    [0, 0, 0, 0, 0],
    [0, 0, 1, 0, 0],
  ])('%d and %d with use %d are %d and %d', (first, second, used, one, two) => {
    expect(chainRewards(whole(first), whole(second, used))).toEqual([one, two])
  })

  it('are -1 where an end or an answer is missing', () => {
    const broken = { right: false, whole: false, used: false }
    expect(chainRewards(broken, broken)).toEqual([-1, -1])
    expect(chainRewards(broken, whole(1, 1))).toEqual([-1, 2])
    expect(chainRewards(whole(1), undefined)).toEqual([1, undefined])
  })
})

describe('skills in a completion', () => {
  it('are read strictly: a name and a clean text, three at most', () => {
    expect(skillsIn(`x ${skill('carry')} y ${skill('carry', 'again')}`)).toEqual([
      { name: 'carry', text: 'add from the left' },
    ])
    for (const wrong of [
      '<skill>x</skill>',
      skill('Bad Name'),
      skill('ok_name', '<b>x</b>'),
      '<skill name="abc">x',
    ])
      expect(skillsIn(wrong)).toEqual([])
    expect(skillsIn(['aaa', 'bbb', 'ccc', 'ddd'].map((name) => skill(name)).join(''))).toHaveLength(3)
  })

  it('are used by name, as a word of its own, and not by being written again', () => {
    const skills = skillsIn(skill('carry'))
    expect(usesOneOf(skills, 'I use carry here.')).toBe(true)
    for (const other of ['carrying on', skill('carry'), 'carry_over', ''])
      expect(usesOneOf(skills, other)).toBe(false)
    expect(usesOneOf([], 'carry')).toBe(false)
  })
})

describe('SAGE’s chains', () => {
  const answered = (seed: number, right: number, before = ''): Rollout =>
    sampled(right, `${before} ${right ? answerTo(seed) : '<answer>none</answer>'}`)
  const first = [
    visit(1, 0, [answered(1, 1, skill('left_one')), answered(1, 0, skill('left_two')), answered(1, 0)]),
    visit(2, 0, [answered(2, 1), answered(2, 1), answered(2, 1)]),
  ]
  const round = { ...viewAt(0, 'round'), groups: first, landed: new Map(), asked: 0, tokensLeft: 1e6 }
  const asked = async (hooks: Hooks): Promise<Request[]> => hooks.extend!(round, context)
  const land = (requests: Request[], write: (request: Request, index: number) => Rollout): Group[] =>
    requests.map((request, i) =>
      visit(request.prompt.seed, 0, [write(request, i)], {
        conditioning: context.conditioning(request.prompt, request.rewrite),
        arm: 'chain',
        origin: { plugin: 'skill/sage_chain', request: request.id, chain: request.chain! },
      }),
    )

  it('ask the second prompt once a rollout of the first, each with its own skills only', async () => {
    const requests = await asked(withSettings(sageChain))
    expect(requests).toHaveLength(6)
    expect(requests.slice(0, 3).map(({ prompt }) => prompt.seed)).toEqual([2, 2, 2])
    expect(requests.slice(3).map(({ prompt }) => prompt.seed)).toEqual([1, 1, 1])
    const shown = requests.map(({ rewrite }) => rewrite!.before!.match(/left_\w+/g) ?? [])
    expect(shown).toEqual([['left_one'], ['left_two'], [], [], [], []])
    expect(await withSettings(sageChain).extend!({ ...round, asked: 1 }, context)).toEqual([])
    expect(await withSettings(sageChain).extend!({ ...round, tokensLeft: 10 }, context)).toEqual([])
  })

  it('never carry a skill of a completion that broke off, or that gives the second answer away', async () => {
    const broken = visit(1, 0, [
      { ...answered(1, 1, skill('cut_off')), finish: 'length' },
      sampled(0, `${skill('no_answer')}`),
      answered(1, 1, skill('leaky', `the answer is ${keyOf(2)}`)),
    ])
    const requests = await withSettings(sageChain).extend!({ ...round, groups: [broken, first[1]!] }, context)
    expect(requests.slice(0, 3).map(({ rewrite }) => rewrite!.before)).toEqual(['', '', ''])
  })

  it('take another prompt of the task where the round has none', async () => {
    const requests = await withSettings(sageChain).extend!({ ...round, groups: [first[0]!] }, context)
    const seeds = new Set(requests.map(({ prompt }) => prompt.seed))
    expect(seeds.size).toBe(1)
    expect([...seeds][0]).toBeLessThan(2 ** 31)
    expect(seeds).not.toContain(1)
  })

  it('reward use, one baseline a place, and a failed first prompt can still feed the second', async () => {
    const hooks = withSettings(sageChain)
    const requests = await asked(hooks)
    const second = land(requests, ({ prompt }, i) =>
      answered(prompt.seed, i < 3 ? 1 : 0, i < 2 ? 'by left_one, left_two' : ''),
    )
    const groups = await hooks.group!([...first, ...second], viewAt(0, 'round'), context)
    expect(groups).toHaveLength(4)
    const rewards = groups.map(({ rollouts }) => rollouts.map(({ reward }) => reward))
    expect(rewards).toEqual([
      [2, 0, 0],
      [1, 1, 1],
      [2, 2, 1],
      [0, 0, 0],
    ])
    expect(groups[0]!.rollouts.map(({ taskReward }) => taskReward)).toEqual([1, 0, 0])
    expect(groups[2]!.rollouts.map(({ conditioning }) => conditioning)).toEqual(
      second.slice(0, 3).map(({ conditioning }) => conditioning),
    )
    expect(groups.map(({ origin }) => origin!.chain!.position)).toEqual([0, 0, 1, 1])
    const estimated = await withSettings(grpo).advantage!(groups, context)
    const advantages = (await hooks.modify!(estimated, groups, context)) as number[][]
    for (const row of advantages) expect(row.reduce((a, b) => a + b, 0)).toBeCloseTo(0, 12)
    expect(advantages[0]).toEqual([2 - 2 / 3, -2 / 3, -2 / 3])
    const other = visit(9, 0, [1, 0])
    expect(await hooks.modify!([[0.5, -0.5]], [other], context)).toEqual([[0.5, -0.5]])
  })

  it('go on without a second rollout that was never written', async () => {
    const hooks = withSettings(sageChain)
    const second = land(await asked(hooks), ({ prompt }) => answered(prompt.seed, 1)).slice(1, 2)
    const groups = await hooks.group!([...first, ...second], viewAt(0, 'round'), context)
    expect(groups.map(({ rollouts }) => rollouts.length)).toEqual([3, 3, 1])
  })

  it('ask for skills in training and not in evaluation', async () => {
    const hooks = withSettings(sageChain)
    const view = { prompt: first[0]!.prompt, question: 'q', turn: 0 }
    expect(await hooks.compose!(view, context)).toMatchObject({ arm: 'chain', tainted: false })
    expect(await hooks.compose!(view, contextWith({ phase: 'eval' }))).toBeUndefined()
  })
})
