// One round of the generate side, with every hook that plugins have there:
//
//   parked groups, select -> compose -> write (steer) -> verify -> reward -> extend, write, verify, reward (until no plugin
//     asks for more) -> group -> observe
//
// Without plugins it is no more than: ask, write, verify.

import type { Ask, BatchView, SelectView } from '../../protocol/plugin/index.ts'
import type { Group, PolicyReference } from '../../protocol/train/index.ts'
import type { Engine } from '../engine/engine.ts'
import type { HostRound } from '../host/contract.ts'
import type { Tokenizer } from '../policy/tokenizer.ts'
import { land, type Written } from './landing.ts'
import { makeOrder } from './orders.ts'
import { type ParkedGroup, type ParkedGroups, park, resume } from './parked.ts'
import { answerRequests } from './requests.ts'
import { beginSequence, type Sequence } from './sequence.ts'
import { createSteering } from './steering.ts'
import type { TaskBook } from './tasks.ts'
import { writeSequences } from './write.ts'

export interface RoundOptions {
  view: SelectView
  /** Groups to be done in this round. */
  want: number
  policy: PolicyReference
  maxNewTokens: number
  /** Most tokens that conditioning and completion may have together. */
  context: number
  temperature: number
  /** Parked groups that were begun more versions ago than this are forgotten. */
  maxStaleness: number
  /** This node's peer ID. */
  author: string
  /** Seed of a rollout's sampling; asked for once each, in order. */
  sampleSeed(): number
  /** ms since the epoch. */
  now(): number
  signal?: AbortSignal | undefined
  /** True once a roll-back has thrown away the weights that it was begun with: then nothing comes of it. */
  isVoid?(): boolean
}

export interface RoundCollaborators {
  engine: Engine
  tokenizer: Tokenizer
  tasks: TaskBook
  hooks: HostRound
  /** Left out where nothing can be parked: such rollouts end where they are, unverified. */
  parked?: ParkedGroups | undefined
}

export interface Round {
  groups: Group[]
  /** Drawn in this round, for plugins included. */
  tokens: number
}

interface Begun extends Written {
  since: number
  sequences: readonly Sequence[]
  wasParked: boolean
}

/** Groups in the order of the asks, those of plugins after them. */
export async function playRound(options: RoundOptions, by: RoundCollaborators): Promise<Round> {
  try {
    return await play(options, by)
  } catch (error) {
    by.parked?.giveBack()
    throw error
  }
}

async function play(options: RoundOptions, by: RoundCollaborators): Promise<Round> {
  const { policy, signal } = options
  const { hooks, tokenizer } = by
  const compose = hooks.compose.bind(hooks)
  const begun = await begin(options, by)
  const asks: Ask[] = begun.map(({ order: { prompt, rollouts } }) => ({ prompt, rollouts }))
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
  let tokens = await writeSequences(
    begun.flatMap(({ sequences }) => sequences),
    options,
    { ...by, watcher, compose },
  )
  const isVoid = (): boolean => options.isVoid?.() ?? false
  if (isVoid()) return nothing(tokens, by)

  const own: Group[] = []
  const parked: ParkedGroup[] = []
  for (const { order, sequences, since, wasParked } of begun) {
    const kept = sequences.filter((one) => !watcher?.isDropped(one))
    // A node that stops in the middle goes on with these when it starts again.
    const isCutShort = signal?.aborted && kept.some(({ finish }) => finish === undefined)
    const isParked = watcher !== undefined && kept.some(watcher.isParked)
    if (isParked || (isCutShort && (watcher !== undefined || wasParked))) {
      parked.push(park(order, kept, since))
      continue
    }
    const group = land([{ order, sequences: kept, since }], options, tokenizer)
    if (group) own.push(await hooks.reward(group))
  }
  if (isVoid()) return nothing(tokens, by)
  by.parked?.settle(parked)

  const view: BatchView = { ...policy, self: options.author, at: 'round' }
  const extra = await answerRequests(own, { ...options, view }, by)
  tokens += extra.tokens
  if (isVoid()) return nothing(tokens, by)
  if (signal?.aborted) return { groups: own, tokens }
  const groups = await hooks.group([...own, ...extra.groups], view)
  await hooks.observe(groups)
  return { groups, tokens }
}

/** Plugins are not shown it either: a roll-back takes them back, too, to before it was written. */
function nothing(tokens: number, { parked }: RoundCollaborators): Round {
  parked?.giveBack()
  return { groups: [], tokens }
}

/** Parked groups first; new ones as far as there is room. */
async function begin(options: RoundOptions, by: RoundCollaborators): Promise<Begun[]> {
  const { policy, maxStaleness, want, view } = options
  const { hooks, parked, tokenizer, tasks } = by
  const most = hooks.oversample(want)
  const isFresh = ({ since, conditioning }: ParkedGroup): boolean =>
    policy.version - since <= maxStaleness && conditioning.length < options.context
  const begun: Begun[] = (parked?.take(most, isFresh) ?? []).flatMap((group) => {
    const resumed = resume(group, by)
    return resumed ? [{ ...resumed, wasParked: true }] : []
  })
  const asks = begun.length < most ? await hooks.select(view, most - begun.length) : []
  for (const ask of asks) {
    const order = await makeOrder(ask, undefined, options, {
      tokenizer,
      tasks,
      compose: hooks.compose.bind(hooks),
    })
    if (!order) continue
    const sequences = Array.from({ length: order.rollouts }, () => beginSequence(order, options.sampleSeed()))
    begun.push({ order, sequences, since: policy.version, wasParked: false })
  }
  return begun
}
