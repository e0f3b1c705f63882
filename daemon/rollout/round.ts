// One round of generating rollouts, with every plugin hook in it:
//
//   receive -> parked groups, select -> compose -> write (steer) -> verify -> reward -> extend, write, verify, reward
//     (until no plugin asks for more) -> group -> observe
//
// Without plugins: pick prompts, write, verify.

import { NO_PHASES, type Phases } from '../../protocol/api/index.ts'
import { WaggleError } from '../../protocol/errors.ts'
import type { BatchView, SelectView } from '../../protocol/plugin/index.ts'
import type { Group, PolicyReference, PromptCoordinates } from '../../protocol/train/index.ts'
import type { Sampler } from '../engine/engine.ts'
import type { PluginRound } from '../host/contract.ts'
import type { Tokenizer } from '../policy/tokens/tokenizer.ts'
import { type ParkedGroup, type ParkedGroups, park, resume } from './parked/parked.ts'
import type { TaskBook } from './tasks.ts'
import { groupOf, type Written } from './writing/group-of.ts'
import { hasRoom, makeJob } from './writing/jobs.ts'
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
  /** Called for each prompt that is left out of the round, because its tokens leave no room for an answer. */
  onLeftOut?(prompt: PromptCoordinates, tokens: number): void
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

/** A round as it passes from step to step. */
interface Playing {
  begun: readonly Begun[]
  watcher: ReturnType<typeof createSteering> | undefined
  /** Sampled so far. */
  tokens: number
  /** Own groups that are whole, and what was parked. */
  own: Group[]
  parked: ParkedGroup[]
  /** The round's groups; until the last step, the own ones. */
  groups: Group[]
}

type Step = (round: Playing, options: RoundOptions, parts: RoundParts) => Promise<void>

const STEPS: readonly Step[] = [write, verify, extend, judge]

/** Plays one round. Its groups are in the order of the asks, followed by those that plugins requested. */
export async function playRound(options: RoundOptions, parts: RoundParts): Promise<Round> {
  try {
    await parts.hooks.receive()
    const round = await open(options, parts)
    for (const step of STEPS) {
      await step(round, options, parts)
      if (options.isVoid?.()) return nothing(round, parts)
    }
    return { groups: round.groups, tokens: round.tokens }
  } catch (error) {
    parts.parked?.giveBack()
    throw error
  }
}

async function open(options: RoundOptions, parts: RoundParts): Promise<Playing> {
  const { hooks } = parts
  const begun = await begin(options, parts)
  const watcher = hooks.steers
    ? createSteering(
        {
          version: options.policy.version,
          want: options.want,
          asks: begun.map(({ job: { prompt, rollouts } }) => ({ prompt, rollouts })),
          sequences: begun.map(({ sequences }) => sequences),
        },
        { steer: hooks.steer.bind(hooks) },
      )
    : undefined
  return { begun, watcher, tokens: 0, own: [], parked: [], groups: [] }
}

async function write(round: Playing, options: RoundOptions, parts: RoundParts): Promise<void> {
  const { hooks, phases = NO_PHASES } = parts
  const all = round.begun.flatMap(({ sequences }) => sequences)
  round.tokens += await phases.run('write', { unit: 'answers', total: all.length }, (at) =>
    writeSequences(
      all,
      { ...options, onDone: (answers, tokens) => at(answers, undefined, tokens) },
      { ...parts, watcher: round.watcher, compose: hooks.compose.bind(hooks) },
    ),
  )
}

async function verify(round: Playing, options: RoundOptions, parts: RoundParts): Promise<void> {
  const { begun } = round
  const { phases = NO_PHASES } = parts
  await phases.run('verify', { unit: 'groups', total: begun.length }, async (at) => {
    for (const [i, one] of begun.entries()) {
      await verifyOne(one, round, options, parts)
      at(i + 1)
    }
  })
}

async function verifyOne(
  { job, sequences, since, wasParked }: Begun,
  { watcher, own, parked }: Playing,
  options: RoundOptions,
  { hooks, tokenizer }: RoundParts,
): Promise<void> {
  const kept = sequences.filter((one) => !watcher?.isDropped(one))
  // A node that stops in the middle of a round resumes these when it starts again.
  const isCutShort = options.signal?.aborted && kept.some(({ finish }) => finish === undefined)
  const isParked = watcher !== undefined && kept.some(watcher.isParked)
  if (isParked || (isCutShort && (watcher !== undefined || wasParked))) {
    parked.push(park(job, kept, since))
    return
  }
  const group = groupOf([{ job, sequences: kept, since }], options, tokenizer)
  if (group) own.push(await hooks.reward(group))
}

/** Answers plugins' requests. */
async function extend(round: Playing, options: RoundOptions, parts: RoundParts): Promise<void> {
  parts.parked?.endRound(round.parked)
  const extra = await answerRequests(round.own, { ...options, view: viewOf(options) }, parts)
  round.tokens += extra.tokens
  // A round that is cut short gives its own groups only.
  round.groups = options.signal?.aborted ? round.own : [...round.own, ...extra.groups]
}

/** Lets plugins judge the whole round. */
async function judge(round: Playing, options: RoundOptions, { hooks }: RoundParts): Promise<void> {
  if (options.signal?.aborted) return
  round.groups = await hooks.group(round.groups, viewOf(options))
  await hooks.observe(round.groups)
}

const viewOf = ({ policy, author }: RoundOptions): BatchView => ({ ...policy, self: author, at: 'round' })

function nothingFits({ context }: RoundOptions): WaggleError {
  return new WaggleError(
    'E_ENGINE',
    `none of the round's questions leaves room for an answer in the model's context of ${context} tokens`,
    { hint: 'Use shorter questions, or a model with a longer context.' },
  )
}

/** Plugins do not see the round either, because the roll-back restored them to a state before it. */
function nothing({ tokens }: Playing, { parked }: RoundParts): Round {
  parked?.giveBack()
  return { groups: [], tokens }
}

/**
 * Resumes parked groups first, then starts new ones up to the wanted number. Rejects with E_ENGINE if every prompt leaves
 * no room for an answer: rounds of nothing would follow one another without a pause.
 */
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
    if (!hasRoom(job, options)) {
      parts.onLeftOut?.(job.prompt, job.conditioning.length)
      continue
    }
    const sequences = Array.from({ length: job.rollouts }, () => beginSequence(job, options.sampleSeed()))
    begun.push({ job, sequences, since: policy.version, wasParked: false })
  }
  if (begun.length === 0 && asks.length > 0) throw nothingFits(options)
  return begun
}
