// Turns finished rollouts into a group. The calls of a rollout are one row as long as each prompt begins with exactly
// the tokens of the previous prompt and answer. What lies between two answers (tools, users, the template) is masked. A
// prompt that does not continue the row begins a new row with the same reward. Pure.

import { createHash } from 'node:crypto'
import { TURN_MARK } from '../../../protocol/plugin/index.ts'
import {
  appendGiven,
  appendWritten,
  beginRow,
  type Group,
  HELD_OUT_SEED,
  type PolicyReference,
  type PromptCoordinates,
  type Rollout,
  readRow,
  type TokenRow,
  type Turn,
  type WrittenTokens,
} from '../../../protocol/train/index.ts'
import { contentId } from '../../../protocol/wire/index.ts'
import type { AgentRollout, Call, Reward, TurnReward } from './rollout.ts'

/** How the prompt was presented. Only `base` is shared, because peers cannot make an agent's prompt again. */
const AGENT_ARM = 'agent'

export interface GroupOptions {
  policy: PolicyReference
  /** This node's peer ID. */
  author: string
  now: number
}

/** What a call gives to a row. */
type Said = Pick<Call, 'id' | 'prompt' | 'text'> & { sample: WrittenTokens & Pick<Rollout, 'finish'> }

interface Member extends Pick<AgentRollout, 'task' | 'group' | 'reward'> {
  readonly counted?: readonly Said[]
}

/** The rollouts must belong to one group and have rewards. Undefined if none of them has a token. */
export function groupOf(
  rollouts: readonly Member[],
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
function promptOf({ task, group }: Member): PromptCoordinates {
  const seed = createHash('sha256').update(group).digest().readUInt32LE(0) % HELD_OUT_SEED
  return { task, taskVersion: 1, seed, difficulty: 0 }
}

export interface Row extends TokenRow {
  /** Ids of its calls. */
  calls: string[]
  conditioning: Int32Array
  turns: Turn[]
  texts: string[]
  finish: Rollout['finish']
}

/** Makes rows from a rollout's calls. Calls without a token are left out. */
export function rowsOf(calls: readonly Said[], reward?: Pick<Reward, 'turns'>): Row[] {
  const rows: Row[] = []
  for (const call of calls) {
    if (call.sample.tokens.length === 0) continue
    const row = longest(rows.filter((one) => continues(one, call.prompt))) ?? begin(call.prompt)
    if (row.tokens.length === 0) rows.push(row)
    appendGiven(row, call.prompt.subarray(row.conditioning.length + row.tokens.length))
    row.calls.push(call.id)
    appendAnswer(row, call, reward?.turns?.get(call.id))
  }
  return rows
}

function begin(conditioning: Int32Array): Row {
  return { ...beginRow(), conditioning, calls: [], turns: [], texts: [], finish: 'aborted' }
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

function appendAnswer(row: Row, { prompt, sample, text }: Said, said: TurnReward | undefined): void {
  row.turns.push({
    // By default, equal prompts are equal states.
    state: createHash('sha256')
      .update(said?.state ?? Buffer.from(Int32Array.from(prompt).buffer))
      .digest('hex')
      .slice(0, 16),
    observation: '',
    start: row.tokens.length,
    length: sample.tokens.length,
    reward: said?.value ?? 0,
  })
  appendWritten(row, sample)
  row.texts.push(text.replaceAll(TURN_MARK, ''))
  row.finish = sample.finish
}

function rolloutOf(row: Row, { value, parts }: Reward, episode: number | undefined): Rollout {
  return {
    text: row.texts.join(TURN_MARK),
    ...readRow(row, row.mask.includes(0)),
    finish: row.finish,
    // Estimators give the last turn whatever the turns' rewards do not add up to.
    reward: value,
    ...(row.turns.length > 1 || episode !== undefined ? { turns: row.turns } : {}),
    ...(parts ? { rewardParts: parts } : {}),
    ...(episode === undefined ? {} : { episode }),
  }
}
