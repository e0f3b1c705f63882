// One round of generating rollouts, with every plugin hook in it:
//
//   receive -> parked groups, select -> compose -> write (steer) -> verify -> reward -> extend, write, verify, reward
//     (until no plugin asks for more) -> group -> observe
//
// Without plugins: pick prompts, write, verify.

import { NO_PHASES, type Phases } from '../../protocol/api/index.ts'
import type { BatchView, PromptRequest, SelectView } from '../../protocol/plugin/index.ts'
import type { Group, PolicyReference } from '../../protocol/train/index.ts'
import type { Sampler } from '../engine/engine.ts'
import type { PluginRound } from '../host/contract.ts'
import type { Tokenizer } from '../policy/tokens/tokenizer.ts'
import { type ParkedGroups, park, resume } from './parked/parked.ts'
import type { ParkedGroup } from './parked/parked-codec.ts'
import type { TaskBook } from './tasks.ts'
import { groupOf, type Written } from './writing/group-of.ts'
import { makeJob } from './writing/jobs.ts'
import { answerRequests } from './writing/requests.ts'
import { beginSequence, type Sequence } from './writing/sequence.ts'
import { createSteering } from './writing/steering.ts'
import { writeSequences } from './writing/write.ts'

export interface RoundOptions {
  view: SelectView
  /** Number of groups to finish in this round. */
  want: number
  policy: PolicyReference
  maxNewTokens: number
  /** Maximum number of tokens of conditioning and completion together. */
  context: number
  /** The model's token ids are 0 to vocabulary - 1. */
  vocabulary: number
  temperature: number
  /** Maximum age of parked groups, in policy versions. Older ones are dropped. */
  maxStaleness: number
  /** This node's peer ID. */
  author: string
  /** A sampling seed. Called once per rollout, in order. */
  sampleSeed(): number
  /** ms since the epoch. */
  now(): number
  signal?: AbortSignal | undefined
  /** True once a roll-back has discarded the weights that the round began with. The round then gives no groups. */
  isVoid?(): boolean
}

export interface RoundParts {
  sampler: Sampler
  tokenizer: Tokenizer
  tasks: TaskBook
  hooks: PluginRound
  /** Without it, nothing is kept between rounds and unfinished rollouts are lost. */
  parked?: ParkedGroups | undefined
  phases?: Pick<Phases, 'run'> | undefined
}

export interface Round {
  groups: Group[]
  /** Number of tokens sampled in this round, including those for plugins. */
  tokens: number
}

interface Begun extends Written {
  since: number
  sequences: readonly Sequence[]
  wasParked: boolean
}

/** Plays one round. Its groups are in the order of the asks, followed by those that plugins requested. */
export async function playRound(options: RoundOptions, parts: RoundParts): Promise<Round> {
  try {
    return await play(options, parts)
  } catch (error) {
    parts.parked?.giveBack()
    throw error
  }
}

async function play(options: RoundOptions, parts: RoundParts): Promise<Round> {
  const { policy, signal } = options
  const { hooks, tokenizer, phases = NO_PHASES } = parts
  const compose = hooks.compose.bind(hooks)
  await hooks.receive()
  const begun = await begin(options, parts)
  const asks: PromptRequest[] = begun.map(({ job: { prompt, rollouts } }) => ({ prompt, rollouts }))
  const watcher = hooks.steers
    ? createSteering(
        {
          version: policy.version,
          want: options.want,
          asks,
          sequences: begun.map(({ sequences }) => sequences),
        },
        { steer: hooks.steer.bind(hooks) },
      )
    : undefined
  const all = begun.flatMap(({ sequences }) => sequences)
  let tokens = await phases.run('write', { unit: 'answers', total: all.length }, (at) =>
    writeSequences(
      all,
      { ...options, onDone: (answers, tokens) => at(answers, undefined, tokens) },
      { ...parts, watcher, compose },
    ),
  )
  const isVoid = (): boolean => options.isVoid?.() ?? false
  if (isVoid()) return nothing(tokens, parts)

  const own: Group[] = []
  const parked: ParkedGroup[] = []
  const verify = async ({ job, sequences, since, wasParked }: Begun): Promise<void> => {
    const kept = sequences.filter((one) => !watcher?.isDropped(one))
    // A node that stops in the middle of a round resumes these when it starts again.
    const isCutShort = signal?.aborted && kept.some(({ finish }) => finish === undefined)
    const isParked = watcher !== undefined && kept.some(watcher.isParked)
    if (isParked || (isCutShort && (watcher !== undefined || wasParked))) {
      parked.push(park(job, kept, since))
      return
    }
    const group = groupOf([{ job: job, sequences: kept, since }], options, tokenizer)
    if (group) own.push(await hooks.reward(group))
  }
  await phases.run('verify', { unit: 'groups', total: begun.length }, async (at) => {
    for (const [i, one] of begun.entries()) {
      await verify(one)
      at(i + 1)
    }
  })
  if (isVoid()) return nothing(tokens, parts)
  parts.parked?.endRound(parked)

  const view: BatchView = { ...policy, self: options.author, at: 'round' }
  const extra = await answerRequests(own, { ...options, view }, parts)
  tokens += extra.tokens
  if (isVoid()) return nothing(tokens, parts)
  if (signal?.aborted) return { groups: own, tokens }
  const groups = await hooks.group([...own, ...extra.groups], view)
  await hooks.observe(groups)
  return { groups, tokens }
}

/** Plugins do not see the round either, because the roll-back restored them to a state before it. */
function nothing(tokens: number, { parked }: RoundParts): Round {
  parked?.giveBack()
  return { groups: [], tokens }
}

/** Resumes parked groups first, then starts new ones up to the wanted number. */
async function begin(options: RoundOptions, parts: RoundParts): Promise<Begun[]> {
  const { policy, maxStaleness, want, view } = options
  const { hooks, parked, tokenizer, tasks } = parts
  const most = hooks.oversample(want)
  const isFresh = ({ since, conditioning }: ParkedGroup): boolean =>
    policy.version - since <= maxStaleness && conditioning.length < options.context
  const begun: Begun[] = (parked?.take(most, isFresh) ?? []).flatMap((group) => {
    const resumed = resume(group, parts)
    return resumed ? [{ ...resumed, wasParked: true }] : []
  })
  const asks = begun.length < most ? await hooks.select(view, most - begun.length) : []
  for (const ask of asks) {
    const job = await makeJob(ask, undefined, options, {
      tokenizer,
      tasks,
      compose: hooks.compose.bind(hooks),
    })
    if (!job) continue
    const sequences = Array.from({ length: job.rollouts }, () => beginSequence(job, options.sampleSeed()))
    begun.push({ job: job, sequences, since: policy.version, wasParked: false })
  }
  return begun
}
