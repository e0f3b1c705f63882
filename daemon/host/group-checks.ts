// Checks of the groups, advantages, columns and role texts that hooks return. Each check throws if the result
// is invalid, and returns what the host uses.

import type { Advantages, Columns, RoleGroup, Teaching } from '../../protocol/plugin/index.ts'
import { checkTopTokens } from '../../protocol/plugin/top-tokens.ts'
import type { Group } from '../../protocol/train/index.ts'
import { checkPrompt } from './checks.ts'

/** A replayed rollout has no behaviour log-probs, so its importance weights are unknown. */
export class ReplayWithoutLogprobsError extends Error {
  override readonly name = 'ReplayWithoutLogprobsError'
}

/**
 * The groups that pass the checks. Hooks do not get the others: a plugin must not answer for faults that it did not
 * cause.
 */
export function wellFormed(groups: readonly Group[]): Group[] {
  return groups.filter((group) => {
    try {
      checkGroups([group])
      return true
    } catch {
      return false
    }
  })
}

export function checkGroups(groups: Group[]): Group[] {
  if (!Array.isArray(groups)) throw new Error('did not return a list of groups')
  for (const { id, prompt, arm, conditioning, rollouts } of groups) {
    checkPrompt(prompt)
    if (typeof id !== 'string' || id === '' || typeof arm !== 'string' || arm === '')
      throw new Error('gave a group without an id or an arm')
    if (!(conditioning instanceof Int32Array) || conditioning.length === 0)
      throw new Error('gave a group without conditioning')
    if (!Array.isArray(rollouts) || rollouts.length === 0) throw new Error('gave a group without rollouts')
    for (const rollout of rollouts) checkRollout(rollout)
  }
  return groups
}

function checkRollout(rollout: Group['rollouts'][number]): void {
  const { tokens, behaviourLogprobs, lossMask, conditioning, reward, replayed, author, prefix, taught } =
    rollout
  if (!(tokens instanceof Int32Array) || tokens.length === 0) throw new Error('gave a rollout without tokens')
  if (!Number.isFinite(reward)) throw new Error('gave a rollout a reward that is not finite')
  if (replayed !== undefined && behaviourLogprobs === undefined)
    throw new ReplayWithoutLogprobsError('replays a rollout whose behaviour log-probs are not known')
  if (behaviourLogprobs && behaviourLogprobs.length !== tokens.length)
    throw new Error(`gave ${behaviourLogprobs.length} behaviour log-probs for ${tokens.length} tokens`)
  if (replayed !== undefined && !behaviourLogprobs!.every((value) => Number.isFinite(value) && value <= 1e-3))
    throw new Error('replays a rollout with log-probs that are none')
  if (lossMask && lossMask.length !== tokens.length)
    throw new Error(`gave a loss mask of ${lossMask.length} for ${tokens.length} tokens`)
  if (prefix !== undefined && !(Number.isInteger(prefix) && prefix > 0 && prefix < tokens.length))
    throw new Error(`gave a rollout of ${tokens.length} tokens a prefix of ${prefix}`)
  if (taught && behaviourLogprobs)
    throw new Error('gave a taught text behaviour log-probs, which are of another conditioning')
  if (author !== undefined && (typeof author !== 'string' || author === ''))
    throw new Error('gave a rollout an author that is none')
  if (conditioning !== undefined && !(conditioning instanceof Int32Array && conditioning.length > 0))
    throw new Error('gave a rollout a conditioning that is none')
}

export function checkAdvantages(advantages: Advantages, groups: readonly Group[]): Advantages {
  if (!Array.isArray(advantages) || !advantages.every((rows) => typeof rows?.length === 'number'))
    throw new Error('did not return advantages as a list for each group')
  if (advantages.length !== groups.length)
    throw new Error(`gave ${advantages.length} groups of advantages for ${groups.length}`)
  groups.forEach(({ rollouts }, g) => {
    const rows = advantages[g]!
    if (rows.length !== rollouts.length)
      throw new Error(`gave ${rows.length} advantages for ${rollouts.length} rollouts`)
    rollouts.forEach(({ tokens }, r) => {
      const advantage = rows[r]!
      if (typeof advantage === 'number') {
        if (!Number.isFinite(advantage)) throw new Error('gave an advantage that is not finite')
      } else if (advantage.length !== tokens.length || !advantage.every(Number.isFinite)) {
        throw new Error('gave per-token advantages of another length, or not finite ones')
      }
    })
  })
  return advantages
}

/** Each column is one number, or has the shape of advantages. */
export function checkColumns(
  columns: Columns,
  isOwn: (name: string) => boolean,
  groups: readonly Group[],
): Columns {
  for (const [name, column] of Object.entries(columns)) {
    if (!isOwn(name)) throw new Error(`gave a column "${name}", which its correct hook does not name`)
    try {
      if (typeof column !== 'number') checkAdvantages(column, groups)
      else if (!Number.isFinite(column)) throw new Error('not finite')
    } catch {
      throw new Error(`gave a column "${name}" that does not fit the groups, or is not finite`)
    }
  }
  return columns
}

/** Whether tokens are in the vocabulary is for the engine to say. */
export function checkTeaching(teaching: Teaching, groups: readonly Group[]): Teaching {
  if (teaching.length !== groups.length)
    throw new Error(`taught ${teaching.length} groups of ${groups.length}`)
  groups.forEach(({ rollouts }, g) => {
    if (teaching[g]!.length !== rollouts.length)
      throw new Error(`taught ${teaching[g]!.length} rollouts of ${rollouts.length}`)
    rollouts.forEach(({ tokens }, r) => {
      const top = teaching[g]![r]
      if (top) checkTopTokens(top, { places: tokens.length, vocabulary: Number.POSITIVE_INFINITY })
    })
  })
  return teaching
}

export function checkRoleGroups(
  given: { train: RoleGroup[] } | undefined,
  roles: readonly string[],
): RoleGroup[] {
  if (given === undefined || given === null) return []
  if (!Array.isArray(given.train)) throw new Error('did not return a list of texts to learn from')
  for (const { role, rollouts } of given.train) {
    if (!roles.includes(role))
      throw new Error(`gave texts for "${role}", which is no trainable role of its manifest`)
    for (const { conditioning, tokens, logprobs, reward, temperature = 1 } of rollouts) {
      if (!(conditioning.length > 0 && logprobs.length === tokens.length))
        throw new Error(`gave a text for "${role}" whose tokens and log-probs do not fit together`)
      if (!Number.isFinite(reward) || !logprobs.every(Number.isFinite))
        throw new Error(`gave a text for "${role}" with a reward or log-prob that is not finite`)
      if (!(Number.isFinite(temperature) && temperature >= 0))
        throw new Error(`gave a text for "${role}" with a temperature that is none`)
    }
  }
  // Empty texts have no tokens to learn from.
  return given.train.map(({ role, rollouts }) => ({
    role,
    rollouts: rollouts.filter(({ tokens }) => tokens.length > 0),
  }))
}
