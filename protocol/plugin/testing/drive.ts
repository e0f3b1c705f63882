// A miniature node that runs rounds and batches as the daemon does, for one plugin on a scripted policy, and
// records every decision. It has no model, engine or clock.

import { type Group, hasSignal, type Origin, type PromptCoordinates, promptKey } from '../../train/index.ts'
import type { Context, TextRequest } from '../context.ts'
import { createdBy } from '../created.ts'
import type { Advantages, BatchView, Hooks, Prefix, Request } from '../hooks.ts'
import type { Plugin } from '../plugin.ts'
import type { Rewrite } from '../rewrite.ts'
import { createScriptedContext } from './scripted.ts'
import { settingsOf } from './settings.ts'
import { areRewards, checkColumns, checkShapes, checkTeaching, plain } from './shapes.ts'
import { steered } from './steering.ts'
import { SUMS } from './sums.ts'
import { createWriter, PROMPTS, SELF, type Writer } from './writer.ts'

export interface DriveOptions {
  /** As in a config, without `use`. */
  settings?: Record<string, unknown>
  /** Answers text requests; plugins that parse hints or skills need texts that they can parse. */
  write?(prompt: string, at: { role: string; index: number }): string
  /** Replaces the manifest's budget. */
  tokens?: number
  seed?: number
  /** False simulates rollouts from peers with another tokenizer, whose log-probs are unknown. */
  known?: boolean
}

export interface Drive {
  hooks: Hooks
  /** Runs one round, then a batch of its groups. */
  round(): Promise<void>
  context(phase?: 'train' | 'eval'): Context
  /** Replaces the hooks with newly created ones. */
  renew(): Hooks
  /** All decisions, in order. */
  readonly transcript: unknown[]
  /** Per round, the tokens that the plugin spent beyond the round's own rollouts. */
  readonly spent: number[]
  readonly problems: string[]
}

const ROLLOUTS = 4
const ASKS = 4
export const LIMITS = { context: 2048, completion: 64 }

export function createDrive<Settings>(plugin: Plugin<Settings>, options: DriveOptions = {}): Drive {
  const settings = settingsOf(plugin, options.settings)
  const { manifest = {} } = plugin
  const budget = options.tokens ?? manifest.budget?.(settings).tokens ?? 0
  const transcript: unknown[] = []
  const spent: number[] = []
  const problems: string[] = []
  let hooks = createdBy(plugin, settings)
  let [step, left] = [0, 0]

  const context = (phase: 'train' | 'eval' = 'train'): Context => {
    const scripted = createScriptedContext({
      step,
      phase,
      seed: options.seed ?? 1,
      tasks: [SUMS],
      privileged: manifest.needs?.includes('privileged') ?? false,
      tokens: left,
      limits: LIMITS,
      write: options.write ?? ((_, { role, index }) => `<hint>Line the digits up, ${role} ${index}.</hint>`),
    })
    const generate = async (requests: readonly TextRequest[]) => {
      const texts = await scripted.generate(requests)
      left -= texts.flat().reduce((sum, { tokens }) => sum + tokens.length, 0)
      return texts
    }
    const metric = (name: string, value: number): void => void transcript.push({ metric: name, value })
    return { ...scripted, generate, metric }
  }
  const note = (what: string, value: unknown): void => void transcript.push({ step, [what]: plain(value) })
  const writer = createWriter(
    { known: options.known ?? true },
    {
      random: (stream) => createScriptedContext({ seed: options.seed ?? 1 }).random(stream),
      ...{ context, problems },
    },
  )
  const rounds = createMiniature(
    { me: `${plugin.kind}/${plugin.name}`, isAnySignal: manifest.signal === 'any' },
    {
      ...{ hooks: () => hooks, context, note, writer, problems },
      left: () => left,
      spend(tokens) {
        left -= tokens
      },
    },
  )

  return {
    get hooks() {
      return hooks
    },
    ...{ transcript, spent, problems, context },
    renew() {
      hooks = createdBy(plugin, settings)
      return hooks
    },
    async round() {
      left = budget
      await hooks.receive?.([writer.theirs(step)], context())
      const view: BatchView = { lineage: 'a', tokenizer: 'b', version: step, self: SELF }
      const batch = await rounds.batch(view, await rounds.write(view))
      const advantages = await rounds.learn(batch)
      step += 1
      const given = await hooks.commit?.({ step, metrics: {}, groups: batch, advantages }, context())
      note('roles', given?.train)
      spent.push(budget - left)
    },
  }
}

interface MiniatureParts {
  hooks(): Hooks
  context(): Context
  note(what: string, value: unknown): void
  writer: Writer
  problems: string[]
  /** Tokens that the plugin may still spend in this round. */
  left(): number
  spend(tokens: number): void
}

/** The parts of a round, in their order. */
function createMiniature(
  { me, isAnySignal }: { me: string; isAnySignal: boolean },
  { hooks, context, note, writer, problems, left, spend }: MiniatureParts,
) {
  const rewarded = async (group: Group): Promise<Group> =>
    withRewards(group, await hooks().reward?.(group, context()), problems)

  const composed = async (prompt: PromptCoordinates): Promise<Rewrite | undefined> => {
    const { question } = SUMS.generate(prompt)
    return (await hooks().compose?.({ prompt, question, turn: 0 }, context())) ?? undefined
  }

  const requested = async (request: Request): Promise<Group | undefined> => {
    const { prompt, rollouts, rewrite, prefix } = request
    if (prefix && (rewrite || !isWithin(prefix) || promptKey(prefix.group.prompt) !== promptKey(prompt)))
      problems.push('it continues what is no beginning of a rollout of the prompt')
    if (left() <= 0) return undefined
    const shown = prefix ? undefined : (rewrite ?? (await composed(prompt)))
    const origin = originOf(request, me)
    const group = writer.group({ prompt, rollouts, rewrite: shown, prefix, origin })
    spend(group.rollouts.reduce((sum, one) => sum + one.tokens.length - (one.prefix ?? 0), 0))
    return rewarded(group)
  }

  const asks = async () => {
    const { step } = context()
    const weights = Float64Array.from((await hooks().weigh?.(PROMPTS, context())) ?? PROMPTS.map(() => 1))
    note('weights', weights)
    const view = {
      tasks: [{ name: SUMS.name, version: 1, difficulty: 2, minDifficulty: 1, maxDifficulty: 4 }],
      rollouts: ROLLOUTS,
      candidates: PROMPTS,
      weights,
    }
    const chosen = await hooks().select?.(view, ASKS, context())
    const next = (i: number): PromptCoordinates => PROMPTS[(step * ASKS + i) % PROMPTS.length]!
    return chosen ?? Array.from({ length: ASKS }, (_, i) => ({ prompt: next(i), rollouts: ROLLOUTS }))
  }

  /** What the plugin asks for beyond the round, of which it keeps some for training. */
  const extended = async (view: BatchView, own: readonly Group[]): Promise<Group[]> => {
    const extra: Group[] = []
    const landed = new Map<string, Group>()
    for (let asked = 0; hooks().extend && asked < 16; asked++) {
      const tokensLeft = Math.max(0, left())
      const requests = await hooks().extend!(
        { ...view, groups: [...own], landed, asked, tokensLeft },
        context(),
      )
      note('requests', requests)
      if (requests.length === 0) break
      for (const request of requests) {
        const group = await requested(request)
        if (!group) continue
        landed.set(request.into ?? request.id, group)
        if (request.keep === 'train') extra.push(group)
      }
    }
    return extra
  }

  return {
    async write(view: BatchView): Promise<Group[]> {
      const chosen = await asks()
      note('asks', chosen)
      const written: Group[] = []
      for (const { prompt, rollouts } of chosen) {
        const rewrite = await composed(prompt)
        note('rewrite', rewrite)
        const origin = rewrite && { plugin: me, ...(rewrite.items ? { items: rewrite.items } : {}) }
        written.push(writer.group({ prompt, rewrite, rollouts, origin }))
      }
      const left = await steered(written, hooks(), ASKS, { context, note, problems })
      const own: Group[] = []
      for (const group of left) own.push(await rewarded(group))
      return [...own, ...(await extended(view, own))]
    },

    async batch(view: BatchView, groups: Group[]): Promise<Group[]> {
      const kept = await grouped(hooks(), groups, { view: { ...view, at: 'round' }, context, problems })
      await hooks().observe?.(kept, context())
      const useful = kept.filter((group) => group.always || isAnySignal || hasSignal(group))
      const batch = await grouped(hooks(), useful, { view: { ...view, at: 'batch' }, context, problems })
      writer.check(batch)
      note('batch', batch)
      return batch
    },

    async learn(batch: Group[]): Promise<Advantages> {
      const now = hooks()
      let advantages = now.advantage ? await now.advantage(batch, context()) : centred(batch)
      if (now.modify) advantages = await now.modify(advantages, batch, context())
      checkShapes(advantages, batch, problems)
      note('advantages', advantages)
      const teaching = await now.teach?.(batch, context())
      if (teaching) checkTeaching(teaching, batch, problems)
      note('teaching', teaching)
      const columns = await now.columns?.(advantages, batch, context())
      if (columns) checkColumns(columns, now.correct?.() ?? {}, batch, problems)
      note('columns', columns)
      return advantages
    },
  }
}

function originOf({ id, parent, chain, rewrite }: Request, plugin: string): Origin {
  return {
    plugin,
    request: id,
    ...(parent === undefined ? {} : { parent }),
    ...(chain === undefined ? {} : { chain }),
    ...(rewrite?.level === undefined ? {} : { level: rewrite.level }),
    ...(rewrite?.items === undefined ? {} : { items: rewrite.items }),
  }
}

async function grouped(
  hooks: Hooks,
  groups: Group[],
  { view, context, problems }: Pick<MiniatureParts, 'context' | 'problems'> & { view: BatchView },
): Promise<Group[]> {
  if (!hooks.group) return groups
  const given: unknown = await hooks.group([...groups], view, context())
  if (Array.isArray(given)) return given as Group[]
  problems.push('its group hook did not return a list of groups')
  return groups
}

function withRewards(group: Group, rewards: number[] | undefined, problems: string[]): Group {
  if (rewards === undefined || !areRewards(rewards, group, problems)) return group
  const rollouts = group.rollouts.map((rollout, i) => ({
    ...rollout,
    reward: rewards[i]!,
    taskReward: rollout.reward,
  }))
  return { ...group, rollouts }
}

function centred(batch: readonly Group[]): Advantages {
  return batch.map(({ rollouts }) => {
    const mean = rollouts.reduce((sum, { reward }) => sum + reward, 0) / rollouts.length
    return rollouts.map(({ reward }) => reward - mean)
  })
}

function isWithin({ group, rollout, length }: Prefix): boolean {
  return length >= 1 && length < (group.rollouts[rollout]?.tokens.length ?? 0)
}
