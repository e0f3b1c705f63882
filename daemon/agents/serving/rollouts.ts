// Checks the input of the gateway's own calls: open a rollout, reward it, finish it, look at it.

import type { OpenRequest } from '../book/book.ts'
import type { AgentRollout, Call, Reward, TurnReward } from '../book/rollout.ts'
import { rowsOf } from '../book/rows.ts'
import type { Body } from '../dialects/dialect.ts'
import { invalid } from '../errors.ts'

const TASK = /^[a-z][a-z0-9_]{0,63}$/
const PART = /^[\w.-]{1,64}$/
const MAX_PARTS = 16
const LARGEST_REWARD = 1000
const RANGE = `a number from -${LARGEST_REWARD} to ${LARGEST_REWARD}`
/** The number of calls that a rollout may make. */
const MAX_TURNS = 256
/** chatcmpl-…, cmpl-…, resp_…, or the id alone. */
const CALL_ID = /^(?:[a-z]{1,16}[-_])?([0-9a-f]{24})$/
const MAX_METADATA = 16_384

export function openRequest(body: Body, isTask: (name: string) => boolean): OpenRequest {
  only(body, ['task', 'group', 'prompt_id', 'mode', 'metadata'])
  const { task = 'agent', mode = 'train', metadata } = body
  if (typeof task !== 'string' || !TASK.test(task))
    throw invalid('"task" must be 1 to 64 of a-z, 0-9 and _, beginning with a letter')
  if (isTask(task)) throw invalid(`"${task}" is a task of this node`, "Give the agent's task another name.")
  if (mode !== 'train' && mode !== 'eval') throw invalid('"mode" must be train or eval')
  if (metadata !== undefined && JSON.stringify(metadata).length > MAX_METADATA)
    throw invalid(`"metadata" may have ${MAX_METADATA} characters as JSON`)
  const group = nameIn(body, 'group') ?? nameIn(body, 'prompt_id')
  return { task, mode, metadata, ...(group === undefined ? {} : { group }) }
}

function nameIn(body: Body, field: string): string | undefined {
  const value = body[field]
  if (value === undefined || value === null) return undefined
  if (typeof value !== 'string' || value.length < 1 || value.length > 256)
    throw invalid(`"${field}" must be a string of 1 to 256 characters`)
  return value
}

export function rewardIn(body: Body): Reward {
  only(body, ['value', 'parts', 'turns', 'calls', 'message'])
  const { parts, message } = body
  const turns = turnsIn(body.turns)
  const calls = callsIn(body.calls)
  const value = body.value ?? (turns && [...turns.values()].reduce((sum, turn) => sum + turn.value, 0))
  if (!isReward(value)) throw invalid(`"value" must be ${RANGE}`)
  if (message !== undefined && (typeof message !== 'string' || message.length > 8192))
    throw invalid('"message" must be a string of at most 8192 characters')
  const named = parts === undefined ? [] : Object.entries(isTable(parts) ? parts : { '': 0 })
  if (named.length > MAX_PARTS || !named.every(([name, part]) => PART.test(name) && isReward(part)))
    throw invalid(`"parts" must be an object of at most ${MAX_PARTS} names, each with ${RANGE}`)
  return {
    value,
    ...(named.length > 0 ? { parts: Object.fromEntries(named) as Record<string, number> } : {}),
    ...(turns ? { turns } : {}),
    ...(calls ? { calls } : {}),
    ...(message === undefined ? {} : { message }),
  }
}

function isReward(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && Math.abs(value) <= LARGEST_REWARD
}

/** Rewards of turns by call id, without the dialect's prefix. */
function turnsIn(turns: unknown): Map<string, TurnReward> | undefined {
  if (turns === undefined) return undefined
  const shape = `"turns" must be a list of up to ${MAX_TURNS} objects {"call": the id of an answer, "value": ${RANGE}, "state": a name}`
  if (!Array.isArray(turns) || turns.length > MAX_TURNS) throw invalid(shape)
  const found = new Map<string, TurnReward>()
  for (const turn of turns) {
    if (!isTable(turn)) throw invalid(shape)
    only(turn, ['call', 'value', 'state'])
    const { call, value = 0, state } = turn
    const id = callIdIn(call)
    if (id === undefined || !isReward(value)) throw invalid(shape)
    if (state !== undefined && (typeof state !== 'string' || state.length < 1 || state.length > 256))
      throw invalid(shape)
    if (found.has(id)) throw invalid(`"turns" names the call ${id} twice`)
    found.set(id, { value, ...(state === undefined ? {} : { state }) })
  }
  return found
}

/** The answers to train on, by call id without the dialect's prefix. */
function callsIn(calls: unknown): Set<string> | undefined {
  if (calls === undefined) return undefined
  const ids = Array.isArray(calls) && calls.length <= MAX_TURNS ? calls.map(callIdIn) : [undefined]
  if (!ids.every((id) => id !== undefined))
    throw invalid(`"calls" must be a list of up to ${MAX_TURNS} ids of answers: those to train on`)
  return new Set(ids)
}

function callIdIn(call: unknown): string | undefined {
  return typeof call === 'string' ? CALL_ID.exec(call)?.[1] : undefined
}

export function outcomeIn(body: Body): 'succeeded' | 'failed' {
  only(body, ['state'])
  const { state = 'succeeded' } = body
  if (state !== 'succeeded' && state !== 'failed') throw invalid('"state" must be succeeded or failed')
  return state
}

function only(body: Body, fields: readonly string[]): void {
  const other = Object.keys(body).find((name) => !fields.includes(name))
  if (other !== undefined)
    throw invalid(`there is no field "${other.slice(0, 64)}"`, `Fields: ${fields.join(', ')}.`)
}

function isTable(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

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
