// Calls a flow plugin at 50 % and 75 % of generation, and leaves out the rollouts that it drops or parks.

import type { Group, Rollout } from '../../train/index.ts'
import type { Context } from '../context.ts'
import type { Hooks } from '../hooks.ts'

interface SteeringParts {
  context(): Context
  note(what: string, value: unknown): void
  problems: string[]
}

/** `want`: groups that the round asked for. */
export async function steered(
  groups: Group[],
  hooks: Pick<Hooks, 'steer'>,
  want: number,
  { context, note, problems }: SteeringParts,
): Promise<Group[]> {
  if (!hooks.steer) return groups
  const gone = new Set<string>()
  for (const share of [0.5, 0.75]) {
    const live = groups
      .flatMap(({ prompt, rollouts }, ask) =>
        rollouts.map((rollout, i) => ({ id: `${ask}.${i}`, ask, prompt, ...halfOf(rollout, share) })),
      )
      .filter(({ id }) => !gone.has(id))
    const asks = groups.map(({ prompt, rollouts: { length } }, ask) => ({
      ...{ prompt, rollouts: length, done: 0 },
      live: live.filter((one) => one.ask === ask).length,
    }))
    const at = context()
    const chosen = await hooks.steer(live, { version: at.step, want, asks }, at)
    note('steered', [...chosen])
    for (const [id, word] of chosen) {
      if (!['keep', 'park', 'cut', 'drop'].includes(word)) problems.push(`it steers to "${word}"`)
      if (!live.some((one) => one.id === id)) problems.push('it steers a rollout that is not being written')
      if (word === 'drop' || word === 'park') gone.add(id)
    }
  }
  return groups.flatMap((group, ask) => {
    const rollouts = group.rollouts.filter((_, i) => !gone.has(`${ask}.${i}`))
    return rollouts.length === 0 ? [] : [{ ...group, rollouts }]
  })
}

/** The view that a flow plugin gets of a rollout when this share of it has been generated. */
function halfOf({ tokens, behaviourLogprobs, entropies }: Rollout, share: number) {
  const length = Math.floor(share * tokens.length)
  const sum = (values: Float32Array | undefined): number =>
    Array.from(values ?? [])
      .slice(0, length)
      .reduce((total, value) => total + value, 0)
  const [logprob, entropy] = [sum(behaviourLogprobs), sum(entropies)]
  return { tokens: length, fresh: length, logprob, entropy, done: false }
}
