// Turns finished rollouts into a group. The calls of a rollout are one row as long as each prompt begins with exactly
// the tokens of the previous prompt and answer. What lies between two answers (tools, users, the template) is masked. A
// prompt that does not continue the row begins a new row with the same reward. Pure.

import { createHash } from 'node:crypto'
import { TURN_MARK } from '../../../protocol/plugin/index.ts'
import {
  type Group,
  HELD_OUT_SEED,
  type PolicyReference,
  type PromptCoordinates,
  type Rollout,
  type Segment,
  type Turn,
} from '../../../protocol/train/index.ts'
import { contentId } from '../../../protocol/wire/index.ts'
import type { AgentRollout, Call, Reward, TurnReward } from './rollout.ts'

/** How the prompt was presented. Only `base` is shared, because peers cannot make an agent's prompt again. */
export const AGENT_ARM = 'agent'

export interface GroupOptions {
  policy: PolicyReference
  /** This node's peer ID. */
  author: string
  now: number
}

/** The rollouts must belong to one group and have rewards. Undefined if none of them has a token. */
export function groupOf(
  rollouts: readonly AgentRollout[],
  { policy, author, now }: GroupOptions,
): Group | undefined {
  const rows = rollouts.flatMap(({ counted, reward }, episode) => {
    const made = rowsOf(counted!, reward)
    return made.map((row) => ({
      row,
      rollout: rolloutOf(row, reward!, made.length > 1 ? episode : undefined),
    }))
  })
  const [first] = rows
  if (!first) return undefined
  const { conditioning } = first.row
  const prompt = promptOf(rollouts[0]!)
  const made = rows.map(({ row, rollout }) =>
    startsWith(row.conditioning, conditioning) && row.conditioning.length === conditioning.length
      ? rollout
      : { ...rollout, conditioning: row.conditioning },
  )
  const oldest = Math.min(...rollouts.flatMap(({ counted }) => counted!.map(({ sample }) => sample.version)))
  return {
    id: contentId(
      prompt,
      made.map(({ text }) => text),
    ),
    prompt,
    conditioning,
    author,
    // Staleness is counted from the oldest answer.
    policy: { ...policy, version: oldest },
    arm: AGENT_ARM,
    rollouts: made,
    bornAt: now,
    bornVersion: oldest,
  }
}

/** Coordinates for records and curves. No task generates this prompt, so nobody can regenerate it from them. */
function promptOf({ task, group }: AgentRollout): PromptCoordinates {
  const seed = createHash('sha256').update(group).digest().readUInt32LE(0) % HELD_OUT_SEED
  return { task, taskVersion: 1, seed, difficulty: 0 }
}

export interface Row {
  /** Ids of its calls. */
  calls: string[]
  conditioning: Int32Array
  tokens: number[]
  logprobs: number[]
  entropies: number[]
  mask: number[]
  segments: Segment[]
  turns: Turn[]
  texts: string[]
  finish: Rollout['finish']
}

/** Makes rows from a rollout's calls. Calls without a token are left out. */
export function rowsOf(calls: readonly Call[], reward?: Pick<Reward, 'turns'>): Row[] {
  const rows: Row[] = []
  for (const call of calls) {
    if (call.sample.tokens.length === 0) continue
    const row = longest(rows.filter((one) => continues(one, call.prompt))) ?? begin(call.prompt)
    if (row.tokens.length === 0) rows.push(row)
    appendMasked(row, call.prompt.subarray(row.conditioning.length + row.tokens.length))
    row.calls.push(call.id)
    appendAnswer(row, call, reward?.turns?.get(call.id))
  }
  return rows
}

function begin(conditioning: Int32Array): Row {
  return {
    ...{ conditioning, tokens: [], logprobs: [], entropies: [], mask: [] },
    ...{ calls: [], segments: [], turns: [], texts: [], finish: 'aborted' },
  }
}

function longest(rows: readonly Row[]): Row | undefined {
  const lengthOf = ({ conditioning, tokens }: Row): number => conditioning.length + tokens.length
  return rows.reduce<Row | undefined>(
    (best, row) => (best && lengthOf(best) >= lengthOf(row) ? best : row),
    undefined,
  )
}

function continues({ conditioning, tokens }: Row, prompt: Int32Array): boolean {
  return (
    startsWith(prompt, conditioning) && tokens.every((token, i) => prompt[conditioning.length + i] === token)
  )
}

function startsWith(whole: Int32Array, start: Int32Array): boolean {
  return whole.length >= start.length && start.every((token, i) => whole[i] === token)
}

function appendMasked(row: Row, tokens: Int32Array): void {
  for (const token of tokens) {
    row.tokens.push(token)
    row.logprobs.push(0)
    row.entropies.push(0)
    row.mask.push(0)
  }
  if (tokens.length > 0) cover(row, row.segments.at(-1)!.version, tokens.length)
}

function appendAnswer(row: Row, { prompt, sample, text }: Call, said: TurnReward | undefined): void {
  const { tokens, logprobs, entropies, version, segments } = sample
  row.turns.push({
    // By default, equal prompts are equal states.
    state: createHash('sha256')
      .update(said?.state ?? Buffer.from(Int32Array.from(prompt).buffer))
      .digest('hex')
      .slice(0, 16),
    observation: '',
    start: row.tokens.length,
    length: tokens.length,
    reward: said?.value ?? 0,
  })
  row.tokens.push(...tokens)
  row.logprobs.push(...logprobs)
  row.entropies.push(...entropies)
  for (let i = 0; i < tokens.length; i++) row.mask.push(1)
  for (const one of segments ?? [{ version, length: tokens.length }]) cover(row, one.version, one.length)
  row.texts.push(text.replaceAll(TURN_MARK, ''))
  row.finish = sample.finish
}

/** Attributes the next `length` tokens to this version. */
function cover({ segments }: Row, version: number, length: number): void {
  const last = segments.at(-1)
  if (last?.version === version) last.length += length
  else segments.push({ version, start: last ? last.start + last.length : 0, length })
}

function rolloutOf(row: Row, { value, parts }: Reward, episode: number | undefined): Rollout {
  const isPlain = row.mask.every((mine) => mine === 1)
  return {
    text: row.texts.join(TURN_MARK),
    tokens: Int32Array.from(row.tokens),
    behaviourLogprobs: Float32Array.from(row.logprobs),
    entropies: Float32Array.from(row.entropies),
    segments: row.segments,
    finish: row.finish,
    // Estimators give the last turn whatever the turns' rewards do not add up to.
    reward: value,
    ...(isPlain ? {} : { lossMask: Uint8Array.from(row.mask) }),
    ...(row.turns.length > 1 || episode !== undefined ? { turns: row.turns } : {}),
    ...(parts ? { rewardParts: parts } : {}),
    ...(episode === undefined ? {} : { episode }),
  }
}
