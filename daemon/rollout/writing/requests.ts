// Writes the rollouts that plugins request once the round's groups are done, within each plugin's token budget. A whole
// completion is reserved for each rollout before it is written, so no plugin can overspend. A rollout that does not fit
// waits for tokens that others leave unused. If it never fits, it is not written.

import type { BatchView } from '../../../protocol/plugin/index.ts'
import { type Group, type Origin, promptKey } from '../../../protocol/train/index.ts'
import type { Sampler } from '../../engine/engine.ts'
import type { PluginRound, Work } from '../../host/contract.ts'
import type { Tokenizer } from '../../policy/tokens/tokenizer.ts'
import type { TaskBook } from '../tasks.ts'
import { type GroupOptions, groupOf, type Written } from './group-of.ts'
import { hasRoom, type JobParts, makeContinuation, makeJob } from './jobs.ts'
import { beginSequence, continueSequence, type Sequence } from './sequence.ts'
import { roomOf, type WriteOptions, writeSequences } from './write.ts'

export interface RequestOptions extends WriteOptions, GroupOptions {
  /** The model's token ids are 0 to vocabulary - 1. */
  vocabulary: number
  sampleSeed(): number
  view: BatchView
}

interface RequestParts {
  sampler: Sampler
  tokenizer: Tokenizer
  tasks: TaskBook
  hooks: PluginRound
}

/** Everything that a plugin requested under one name. */
interface Answered {
  plugin: string
  work: Work[]
  written: Written[]
  group?: Group | undefined
}

interface Pending {
  plugin: string
  sequence: Sequence
}

/**
 * Returns the groups to train on, in the order of their first request, and the tokens drawn for all requests.
 */
export async function answerRequests(
  groups: readonly Group[],
  options: RequestOptions,
  parts: RequestParts,
): Promise<{ groups: Group[]; tokens: number }> {
  const { hooks, tokenizer, tasks } = parts
  const jobParts = { tokenizer, tasks, compose: hooks.compose.bind(hooks) }
  const answers = new Map<string, Answered>()
  let tokens = 0
  while (hooks.extends && !options.signal?.aborted) {
    const asked = await hooks.extend({ groups, landed: landedOf(answers) }, options.view)
    if (asked.length === 0) break
    const touched = new Set<Answered>()
    const pending: Pending[] = []
    for (const work of asked) {
      // Work that cannot be started gives no group, but must not fail the round.
      const begun = await beginWork(work, options, jobParts).catch(() => undefined)
      if (!begun) continue
      const { job, sequences } = begun
      const answer = answerFor(work, answers)
      answer.work.push(work)
      answer.written.push({ job: job, sequences })
      touched.add(answer)
      pending.push(...sequences.map((sequence) => ({ plugin: work.plugin, sequence })))
    }
    tokens += await writeWithin(pending, options, { ...parts, ...jobParts })
    for (const answer of touched) {
      const group = groupOf(answer.written, options, tokenizer, originOf(answer))
      answer.group = group && (await hooks.reward(group))
    }
  }
  return {
    tokens,
    groups: [...answers.values()].flatMap(({ plugin, work, group }) =>
      group && !hooks.isOut(plugin) && work.some(({ request }) => request.keep === 'train') ? [group] : [],
    ),
  }
}

async function beginWork(
  { request, rewrite, tainted: isTainted = false }: Work,
  options: RequestOptions,
  parts: JobParts,
): Promise<Written | undefined> {
  const job = request.prefix
    ? makeContinuation(request, request.prefix, { ...options, isTainted }, parts)
    : await makeJob(request, rewrite, options, parts)
  if (!job || !hasRoom(job, options)) return undefined
  const begin = (): Sequence =>
    job.prefix
      ? continueSequence(job, options.sampleSeed(), parts.tokenizer)
      : beginSequence(job, options.sampleSeed())
  return { job, sequences: Array.from({ length: job.rollouts }, begin) }
}

/** One plugin's requests with the same `into` share a group if they have the same prompt. */
function answerFor({ plugin, request }: Work, answers: Map<string, Answered>): Answered {
  const under = (name: string): string => JSON.stringify([plugin, name])
  const shared = answers.get(under(request.into ?? request.id))
  const fits = !shared || promptKey(shared.work[0]!.request.prompt) === promptKey(request.prompt)
  if (shared && fits) return shared
  const answer: Answered = { plugin, work: [], written: [] }
  answers.set(under(fits ? (request.into ?? request.id) : request.id), answer)
  return answer
}

function landedOf(answers: ReadonlyMap<string, Answered>): Map<string, Map<string, Group>> {
  const landed = new Map<string, Map<string, Group>>()
  for (const [key, { plugin, group }] of answers) {
    if (!group) continue
    const [, name] = JSON.parse(key) as [string, string]
    const own = landed.get(plugin) ?? new Map<string, Group>()
    landed.set(plugin, own.set(name, group))
  }
  return landed
}

function originOf({ plugin, work, written }: Answered): Origin {
  const { request } = work[0]!
  const { level } = written[0]!.job.composed?.origin ?? {}
  const items = written.flatMap(({ job }) => job.composed?.origin.items ?? [])
  return {
    plugin,
    request: request.into ?? request.id,
    ...(request.parent === undefined ? {} : { parent: request.parent }),
    ...(level === undefined ? {} : { level }),
    ...(items.length === 0 ? {} : { items: [...new Set(items)] }),
    ...(request.chain ? { chain: request.chain } : {}),
  }
}

async function writeWithin(
  all: readonly Pending[],
  options: WriteOptions,
  parts: RequestParts & { compose: PluginRound['compose'] },
): Promise<number> {
  const { hooks } = parts
  let waiting = all
  let total = 0
  while (waiting.length > 0 && !options.signal?.aborted) {
    const left = new Map<string, number>()
    const fits = ({ plugin, sequence }: Pending): boolean => {
      const room = roomOf(sequence, options)
      const rest = (left.get(plugin) ?? hooks.tokensLeft(plugin)) - room
      if (rest >= 0) left.set(plugin, rest)
      return rest >= 0 && !hooks.isOut(plugin)
    }
    const now = waiting.filter(fits)
    if (now.length === 0) break
    waiting = waiting.filter((one) => !now.includes(one))
    total += await writeSequences(
      now.map(({ sequence }) => sequence),
      options,
      parts,
    )
    for (const [plugin, own] of Map.groupBy(now, (one) => one.plugin))
      hooks.spend(
        plugin,
        own.reduce((sum, { sequence }) => sum + sequence.fresh, 0),
      )
  }
  return total
}
