// Records what an update takes and gives, so that others can compute it again. It listens to what the update asks of its
// node, such as the standing of authors, and changes nothing.

import type { Random } from '../../../protocol/plugin/index.ts'
import { type Group, isPlain } from '../../../protocol/train/index.ts'
import {
  type BatchAuthor,
  type BatchGroup,
  encodeBatch,
  type ReceiptStep,
} from '../../../protocol/wire/index.ts'
import type { Trainer } from '../../engine/engine.ts'
import type { Layout } from '../heads/vector.ts'
import type { UpdateOptions, UpdateReport } from '../update.ts'
import { type FullState, stateOf } from './state.ts'

/** One update with all that it takes to compute it again. */
export interface RecordedStep {
  version: number
  before: FullState
  after: FullState
  groups: ReceiptStep['groups']
  /** Bytes of the batch, or why nobody else can compute the step. */
  batch: Uint8Array | { closed: string }
}

export interface UpdateToRecord {
  groups: readonly Group[]
  options: UpdateOptions
  random: Random
  /** The policy's `changes`: tells whether the weights were replaced since the last update. */
  changes: number
  /** Why nobody else can compute the step, if the caller knows a reason. */
  closed: string | undefined
}

export interface StepRecorder {
  /** Calls `run` once, with options and random numbers that give what the given ones do. */
  record(
    given: UpdateToRecord,
    run: (options: UpdateOptions, random: Random) => Promise<UpdateReport>,
  ): Promise<UpdateReport>
}

interface StepRecorderParts {
  trainer: Pick<Trainer, 'weights' | 'optimizer' | 'info'>
  /** Takes a record. A failure costs the record only. */
  keep(step: RecordedStep): Promise<void>
  onTrouble(error: unknown): void
}

const FLOAT16 = 'its gradients were computed in float16'
const REPLACED = 'its engine failed and another went on'
const UNSHARED =
  'it had groups that are never shared, such as answers with a hint, of an agent or of several turns'
const TOO_LARGE = 'its batch is too large to be told'

export function createStepRecorder({ layout }: { layout: Layout }, parts: StepRecorderParts): StepRecorder {
  const { trainer, keep, onTrouble } = parts
  /** After the last update, and how many changes of the weights there will be once they are handed on. */
  let last: { state: FullState; changes: number; device: string } | undefined
  const now = async (): Promise<{ state: FullState; isHalf: boolean }> => {
    const [weights, optimizer] = await Promise.all([trainer.weights(), trainer.optimizer()])
    return { state: stateOf(layout, weights, optimizer), isHalf: optimizer.lossScale !== undefined }
  }

  return {
    async record(given, run) {
      const { groups, options, changes } = given
      const { device } = trainer.info
      const isKnown = last?.changes === changes && last.device === device
      const before = isKnown ? last!.state : (await now()).state
      // An update that fails may have made some of its steps.
      last = undefined
      const heard = listen(given)
      const report = await run(heard.options, heard.random)
      if (report.steps === 0) return report
      try {
        const { state: after, isHalf } = await now()
        const isReplaced = trainer.info.device !== device
        last = { state: after, changes: changes + 1, device: trainer.info.device }
        const closed =
          given.closed ??
          (isReplaced ? REPLACED : isHalf ? FLOAT16 : groups.every(isOpen) ? undefined : UNSHARED)
        const settings = { ...settingsOf(options), ...heard.settings() }
        const told = groups.map((group) => groupOf(group, options.self))
        const batch =
          closed === undefined
            ? (encodeBatch({ settings, groups: told }) ?? { closed: TOO_LARGE })
            : { closed }
        await keep({
          ...{ version: options.version, before, after, batch },
          groups: groups.map(({ id, author }) => ({ id, ...(author === options.self ? {} : { author }) })),
        })
      } catch (error) {
        onTrouble(error)
      }
      return report
    },
  }
}

/** Whether a peer could verify the group: plain answers whose rewards are their verifier's. */
function isOpen(group: Group): boolean {
  return (
    isPlain(group) &&
    !group.always &&
    group.rollouts.every(
      ({ taskReward, lossMask, turns, episode }) =>
        taskReward === undefined && lossMask === undefined && turns === undefined && episode === undefined,
    )
  )
}

function groupOf({ prompt, author, policy, bornVersion, rollouts }: Group, self: string): BatchGroup {
  return {
    ...{ prompt, policy, born: bornVersion },
    ...(author === self ? {} : { author }),
    rollouts: rollouts.map(({ text, finish, segments, tokens, behaviourLogprobs, entropies }) => ({
      ...{ text, finish, segments, tokens },
      ...(behaviourLogprobs && { logprobs: behaviourLogprobs }),
      ...(entropies && { entropies }),
    })),
  }
}

function settingsOf({ minibatches, optimizer, learnForeign, compare, meanOwn }: UpdateOptions) {
  return { minibatches, optimizer, learnForeign, compare, ...(meanOwn && { meanOwn: { ...meanOwn } }) }
}

/** Passes on all that is asked, and notes the answers. */
function listen({ groups, options, random }: UpdateToRecord) {
  const authors = new Map<string, BatchAuthor>()
  for (const { author } of groups)
    if (author !== options.self)
      authors.set(author, {
        author,
        isBelieved: options.isBelieved(author),
        isNew: options.earnedWeight(author) === undefined,
        weights: [],
      })
  const draws: number[] = []
  const most = drawsOf(groups, options)
  return {
    settings: () => ({ authors: [...authors.values()], draws }),
    random: () => {
      const drawn = random()
      if (draws.length < most) draws.push(drawn * 2 ** 32)
      return drawn
    },
    options: {
      ...options,
      earnedWeight: ((author, report) => {
        const weight = options.earnedWeight(author, report)
        if (report) authors.get(author)?.weights.push(weight ?? 1)
        return weight
      }) satisfies UpdateOptions['earnedWeight'],
    },
  }
}

/** Random numbers that decide which minibatch each group is in; those after them change no step (see cut.ts). */
function drawsOf(groups: readonly Group[], { self, minibatches }: UpdateOptions): number {
  const own = groups.filter(({ author }) => author === self).length
  if (Math.min(minibatches, own) <= 1) return 0
  return own - 1 + Math.max(0, groups.length - own - 1)
}
