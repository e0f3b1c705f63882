// Checks the input of the gateway's own calls: open a rollout, reward it, finish it, look at it.

import { z } from 'zod'
import type { OpenRequest } from '../book/book.ts'
import type { AgentRollout, Call, Reward, TurnReward } from '../book/rollout.ts'
import { rowsOf } from '../book/rows.ts'
import type { Body } from '../dialects/dialect.ts'
import { invalid } from '../errors.ts'
import { bareId, FINISH, OPEN, REWARD, read, rewardValue } from './shapes.ts'

export function openRequest(body: Body, isTask: (name: string) => boolean): OpenRequest {
  const { task, group, prompt_id: prompt, mode, metadata } = read(OPEN, body)
  if (isTask(task)) throw invalid(`"${task}" is a task of this node`, "Give the agent's task another name.")
  const name = group ?? prompt ?? undefined
  return { task, mode, metadata, ...(name === undefined ? {} : { group: name }) }
}

export function rewardIn(body: Body): Reward {
  const { value, parts = {}, turns, calls, message } = read(REWARD, body)
  const byCall = turns && turnsOf(turns)
  const sum = value ?? turns?.reduce((all, turn) => all + turn.value, 0)
  return {
    // The turns may add up to more than a rollout may have.
    value: read(z.strictObject({ value: rewardValue }), { value: sum }).value,
    ...(Object.keys(parts).length > 0 ? { parts } : {}),
    ...(byCall ? { turns: byCall } : {}),
    ...(calls ? { calls: new Set(calls.map(bareId)) } : {}),
    ...(message === undefined ? {} : { message }),
  }
}

/** Rewards of turns by call id, without the dialect's prefix. */
function turnsOf(turns: z.output<typeof REWARD>['turns'] & {}): Map<string, TurnReward> {
  const found = new Map<string, TurnReward>()
  for (const { call, value, state } of turns) {
    const id = bareId(call)
    if (found.has(id)) throw invalid(`"turns" names the call ${id} twice`)
    found.set(id, { value, ...(state === undefined ? {} : { state }) })
  }
  return found
}

export const outcomeIn = (body: Body): 'succeeded' | 'failed' => read(FINISH, body).state

export function stateOf(rollout: AgentRollout): object {
  const {
    id,
    task,
    group,
    mode,
    metadata,
    openedAt,
    expiresAt,
    state,
    outcome,
    reward,
    dropped,
    calls,
    undelivered,
    tokens,
  } = rollout
  return {
    ...{ id, task, group, mode, state, calls: calls.length, tokens },
    ...{ rows: rowsOf(countedOf(rollout)).length, undelivered },
    ...{ opened_at: openedAt, expires_at: expiresAt, metadata: metadata ?? null },
    ...(outcome ? { outcome } : {}),
    ...(reward ? { reward: rewardOf(reward) } : {}),
    ...(dropped ? { dropped } : {}),
  }
}

function rewardOf({ turns, calls, ...reward }: Reward): object {
  return {
    ...reward,
    ...(turns ? { turns: [...turns].map(([call, turn]) => ({ call, ...turn })) } : {}),
    ...(calls ? { calls: [...calls] } : {}),
  }
}

/** The calls that are trained on, or would be if the reward came now. */
function countedOf({ calls, counted }: AgentRollout): readonly Call[] {
  return counted ?? calls.filter(({ delivery }) => delivery.state === 'delivered')
}

export function callsOf(rollout: AgentRollout): object {
  const { id, calls } = rollout
  const rows = rowsOf(countedOf(rollout))
  const rowOf = (call: string): number | null => {
    const at = rows.findIndex((row) => row.calls.includes(call))
    return at < 0 ? null : at
  }
  return {
    id,
    calls: calls.map(({ id: call, at, prompt, sample, text, delivery }) => ({
      ...{ id: call, at, text, finish: sample.finish },
      ...{ delivered: delivery.state === 'delivered', row: rowOf(call) },
      prompt_token_ids: [...prompt],
      token_ids: [...sample.tokens],
      logprobs: [...sample.logprobs],
      ...(sample.allowed ? { allowed: [...sample.allowed] } : {}),
      weight_version: sample.version,
      ...(sample.segments ? { segments: sample.segments } : {}),
    })),
  }
}
