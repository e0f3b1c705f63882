import { describe, expect, it } from 'vitest'
import grpo from '../../../plugins/estimators/normalised/grpo.ts'
import { mixedAdvantages } from '../../../plugins/replay/mixing.ts'
import r3 from '../../../plugins/replay/r3-like.ts'
import basicArithmetic from '../../../plugins/tasks/arithmetic/basic-arithmetic.ts'
import type { Hooks, RoundView } from '../../../protocol/plugin/index.ts'
import { createScriptedContext, textOf } from '../../../protocol/plugin/testing/index.ts'
import type { Group } from '../../../protocol/train/index.ts'
import { contextOf, withSettings } from '../samples.ts'
import { sampled, viewAt, visit } from './samples.ts'

const context = createScriptedContext({ tasks: [basicArithmetic] })

/** What a node does with a round's groups, up to what the batch trains on. */
async function round(hooks: Hooks, groups: Group[]): Promise<Group[]> {
  const version = groups[0]!.bornVersion
  const rewarded = await Promise.all(
    groups.map(async (group) => {
      const rewards = await hooks.reward!(group, context)
      return !rewards
        ? group
        : {
            ...group,
            rollouts: group.rollouts.map((rollout, i) => ({
              ...rollout,
              reward: rewards[i]!,
              taskReward: rollout.reward,
            })),
          }
    }),
  )
  const kept = await hooks.group!(rewarded, viewAt(version, 'round'), context)
  await hooks.observe!(kept, context)
  return hooks.group!(kept, viewAt(version), context)
}
const advantagesOf = async (hooks: Hooks, groups: Group[]): Promise<number[][]> => {
  const estimated = await withSettings(grpo).advantage!(groups, contextOf())
  return (await hooks.modify!(estimated, groups, contextOf())) as number[][]
}
const viewOf = (groups: Group[], more: Partial<RoundView> = {}): RoundView => ({
  ...viewAt(groups[0]!.bornVersion, 'round'),
  groups,
  landed: new Map(),
  asked: 0,
  tokensLeft: 1e6,
  ...more,
})

describe('R³', () => {
  it('is GRPO at the first visit of a prompt', async () => {
    const hooks = withSettings(r3)
    const groups = [visit(1, 0, [0, 0, 1, 0]), visit(2, 0, [0, 0, 0, 0])]
    expect(await hooks.extend!(viewOf(groups), context)).toEqual([])
    const trained = await round(hooks, groups)
    expect(trained).toEqual(groups)
    expect(await advantagesOf(hooks, trained)).toEqual(
      await withSettings(grpo).advantage!(groups, contextOf()),
    )
  })

  it('leaves groups with right and wrong rollouts as they are', async () => {
    const hooks = withSettings(r3)
    await round(hooks, [visit(1, 0, [0, 1])])
    const mixed = visit(1, 1, [1, 0])
    expect(await round(hooks, [mixed])).toEqual([mixed])
  })

  it('gives failures a past success, and successes a past failure', async () => {
    const hooks = withSettings(r3)
    await round(hooks, [visit(1, 0, [0, 1, 0, 0]), visit(2, 0, [1, 0, 1, 1])])
    const [failed, right] = await round(hooks, [visit(1, 1, [0, 0, 0, 0]), visit(2, 1, [1, 1, 1, 1])])
    expect(failed!.rollouts.map(({ reward }) => reward)).toEqual([0, 0, 0, 0, 1])
    expect(failed!.rollouts.map(({ replayed }) => replayed)).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
      1,
    ])
    expect(right!.rollouts.map(({ reward }) => reward)).toEqual([1, 1, 1, 1, 0])
    const [positives, negatives] = await advantagesOf(hooks, [failed!, right!])
    expect(positives![4]).toBeGreaterThan(0)
    expect(Math.max(...positives!.slice(0, 4))).toBeLessThan(0)
    expect(negatives![4]).toBeLessThan(0)
    expect(Math.min(...negatives!.slice(0, 4))).toBeGreaterThan(0)
  })

  it('has the advantages of nine where eight failed', () => {
    const rewards = [0, 0, 0, 0, 0, 0, 0, 0, 1]
    const at = { alpha: 1, lambda: 1e-12 }
    const population = mixedAdvantages(rewards, { ...at, std: 'population' })
    expect([population[0], population[8]].map((value) => value!.toFixed(4))).toEqual(['-0.3536', '2.8284'])
    const sample = mixedAdvantages(rewards, { ...at, std: 'sample' })
    expect([sample[0], sample[8]].map((value) => value!.toFixed(4))).toEqual(['-0.3333', '2.6667'])
    expect(mixedAdvantages([1, 0], { alpha: 0, lambda: 0.5, std: 'sample' })).toEqual([1, -1])
    expect(mixedAdvantages([1, 1], { ...at, std: 'sample' })).toEqual([0, 0])
  })

  it('never replays across prompts, nor what the same step wrote', async () => {
    const hooks = withSettings(r3)
    await round(hooks, [visit(1, 0, [0, 1]), visit(2, 0, [0, 0])])
    expect((await round(hooks, [visit(2, 1, [0, 0])]))[0]!.rollouts).toHaveLength(2)
    const fresh = withSettings(r3)
    await round(fresh, [visit(3, 5, [0, 1])])
    expect((await round(fresh, [visit(3, 5, [0, 0])]))[0]!.rollouts).toHaveLength(2)
  })

  it('replays across contexts: under what the sampler saw, with its log-probs and its taint', async () => {
    const hooks = withSettings(r3)
    const reflected = sampled(1, 'found after reflection', {
      behaviourLogprobs: new Float32Array(22).fill(-0.125),
    })
    const seen = Int32Array.of(1, 2, 3)
    await round(hooks, [
      visit(1, 0, [0, 0]),
      visit(1, 0, [0, reflected], { arm: 'reflect', conditioning: seen, tainted: true }),
    ])
    const [group] = await round(hooks, [visit(1, 1, [0, 0])])
    expect(group).toMatchObject({ arm: 'base', tainted: true, always: true })
    expect(group!.rollouts.at(-1)).toMatchObject({
      conditioning: seen,
      arm: 'reflect',
      behaviourLogprobs: reflected.behaviourLogprobs,
      replayed: 1,
    })
  })

  it('stops replaying a rollout after its uses, its visits and its versions', async () => {
    const replayed = async (settings: Record<string, unknown>, versions: number[]): Promise<number[]> => {
      const hooks = withSettings(r3, settings)
      await round(hooks, [visit(1, 0, [0, 1])])
      const counts = []
      for (const version of versions)
        counts.push((await round(hooks, [visit(1, version, [0, 0])]))[0]!.rollouts.length - 2)
      return counts
    }
    expect(await replayed({ uses: 2, epochs: 99 }, [1, 2, 3])).toEqual([1, 1, 0])
    expect(await replayed({ epochs: 2 }, [1, 2, 3])).toEqual([1, 1, 0])
    expect(await replayed({ versions: 8 }, [8, 9])).toEqual([1, 0])
  })

  it('forgets what a roll-back took back', async () => {
    const hooks = withSettings(r3)
    await round(hooks, [visit(1, 9, [0, 1])])
    expect((await round(hooks, [visit(1, 3, [0, 0])]))[0]!.rollouts).toHaveLength(2)
  })

  it('leaves groups of peers alone', async () => {
    const hooks = withSettings(r3)
    await round(hooks, [visit(1, 0, [0, 1])])
    const foreign = visit(1, 1, [0, 0], { author: 'peer' })
    expect(await hooks.group!([foreign], viewAt(1), context)).toEqual([foreign])
  })
})

describe('R³’s ranking of failures', () => {
  const failures = (version: number, rewards: number[]): Group =>
    visit(
      1,
      version,
      rewards.map((reward, i) =>
        sampled(reward, 'abcde', {
          entropies: Float32Array.from(
            [
              [4, 0, 0, 0, 0],
              [2, 1, 1, 1, 1],
              [1, 1, 2, 2, 2],
            ][i % 3]!,
          ),
        }),
      ),
    )

  it('starts at the second visit, and never where there is a success', async () => {
    const hooks = withSettings(r3)
    expect(await hooks.reward!(failures(0, [0, 0, 0]), context)).toBeUndefined()
    await hooks.observe!([failures(0, [0, 0, 0])], context)
    expect(await hooks.reward!(failures(1, [0, 0, 0]), context)).toEqual([0.5, 0.125, 0.125])
    expect(await hooks.reward!(failures(1, [0, 1, 0]), context)).toBeUndefined()
    expect(await hooks.reward!(failures(1, [1, 1, 1]), context)).toBeUndefined()
  })

  it('comes before what is mixed in, and stays below it', async () => {
    const hooks = withSettings(r3)
    await round(hooks, [visit(1, 0, [0, 1])])
    const [group] = await round(hooks, [failures(1, [0, 0, 0])])
    expect(group!.rollouts.map(({ reward }) => reward)).toEqual([0.5, 0.125, 0.125, 1])
    const [advantages] = await advantagesOf(hooks, [group!])
    expect(advantages![3]).toBeGreaterThan(advantages![0]!)
    expect(advantages![0]).toBeGreaterThan(advantages![1]!)
  })

  it('asks the policy for entropies that the sampler did not keep', async () => {
    const hooks = withSettings(r3)
    const plain = visit(1, 0, [0, 0])
    await hooks.observe!([plain], context)
    // Equal entropies everywhere: nothing to rank.
    expect(await hooks.reward!(visit(1, 1, [0, 0]), context)).toBeUndefined()
  })

  it('gives short right answers more where a bonus is set', async () => {
    const hooks = withSettings(r3, { lengthBonus: 32 })
    const group = visit(1, 0, [sampled(1, 'x'.repeat(8)), sampled(1, 'x'.repeat(64)), sampled(0, 'x')])
    expect(await hooks.reward!(group, context)).toEqual([1.75, 1, 0])
  })
})

describe('R³’s reflection', () => {
  const hard = async (settings: Record<string, unknown> = {}): Promise<Hooks> => {
    const hooks = withSettings(r3, settings)
    await round(hooks, [visit(1, 0, [0, 0, 0, 0]), visit(2, 0, [1, 0, 1, 1])])
    return hooks
  }

  it('adds a group beside the prompt’s own, with a wrong answer in it', async () => {
    const hooks = await hard()
    const groups = [visit(1, 1, [0, 0, 0, 0]), visit(2, 1, [1, 0, 1, 1])]
    const requests = await hooks.extend!(viewOf(groups), context)
    expect(requests).toHaveLength(1)
    expect(requests[0]).toMatchObject({
      prompt: groups[0]!.prompt,
      rollouts: 4,
      keep: 'train',
      parent: groups[0]!.id,
      rewrite: { arm: 'reflect', tainted: false },
    })
    expect(requests[0]!.rewrite!.after).toMatch(/try \d at 0/)
    expect(requests[0]!.rewrite!.before).toBeUndefined()
    expect(await hooks.extend!(viewOf(groups, { asked: 1 }), context)).toEqual([])
    expect(await hooks.group!(groups, viewAt(1, 'round'), context)).toHaveLength(2)
  })

  it('stays within the tokens that are left', async () => {
    const hooks = await hard()
    const tokensLeft = 4 * context.limits.completion - 1
    expect(await hooks.extend!(viewOf([visit(1, 1, [0, 0, 0, 0])], { tokensLeft }), context)).toEqual([])
  })

  it('cuts the middle of an attempt that does not fit', async () => {
    const small = createScriptedContext({
      tasks: [basicArithmetic],
      limits: { context: 600, completion: 300 },
    })
    const hooks = withSettings(r3)
    await round(hooks, [visit(1, 0, [sampled(0, `begin${'x'.repeat(3000)}end`)])])
    const [request] = await hooks.extend!(viewOf([visit(1, 1, [0])]), small)
    const seen = textOf(small.conditioning(request!.prompt, request!.rewrite))
    expect(seen.length).toBeLessThanOrEqual(300)
    expect(seen).toMatch(/begin.*….*end/)
    const tiny = createScriptedContext({
      tasks: [basicArithmetic],
      limits: { context: 300, completion: 299 },
    })
    expect(await hooks.extend!(viewOf([visit(1, 1, [0])]), tiny)).toEqual([])
  })

  it('decides the same after its state was saved and loaded', async () => {
    const hooks = await hard()
    const copy = withSettings(r3)
    await copy.load!(await hooks.save!())
    const groups = [visit(1, 1, [0, 0, 0, 0]), visit(2, 1, [0, 0, 0, 0])]
    expect(await copy.extend!(viewOf(groups), context)).toEqual(await hooks.extend!(viewOf(groups), context))
    expect(await round(copy, groups)).toEqual(await round(hooks, groups))
    expect(await copy.save!()).toEqual(await hooks.save!())
  })
})
