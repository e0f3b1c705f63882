// A miniature node that runs rounds and batches as the daemon does, for one plugin on a scripted policy, and
// records every decision. It has no model, engine or clock.

import { type Group, hasSignal, type PromptCoordinates, promptKey, type Rollout } from '../../train/index.ts'
import type { Context, TextRequest } from '../context.ts'
import type { Advantages, BatchView, Hooks, Prefix, Request } from '../hooks.ts'
import type { Plugin } from '../plugin.ts'
import type { Rewrite } from '../rewrite.ts'
import { createScriptedContext, textOf, tokensOf } from './scripted.ts'
import { settingsOf } from './settings.ts'
import { checkColumns, checkShapes, checkTeaching, plain } from './shapes.ts'
import { answerSum, SUMS, sumAt } from './sums.ts'

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

export const PROMPTS = Array.from({ length: 9 }, (_, i) => sumAt(100 + i))
const ROLLOUTS = 4
const ASKS = 4
export const LIMITS = { context: 2048, completion: 64 }
const SELF = 'self'

export function createDrive<Settings>(plugin: Plugin<Settings>, options: DriveOptions = {}): Drive {
  const settings = settingsOf(plugin, options.settings)
  const { manifest = {} } = plugin
  const budget = options.tokens ?? manifest.budget?.(settings).tokens ?? 0
  const known = options.known ?? true
  const me = `${plugin.kind}/${plugin.name}`
  const transcript: unknown[] = []
  const spent: number[] = []
  const problems: string[] = []
  /** Everything ever sampled, to detect training on anything else. */
  const sampled = new Set<string>()
  /** The same, keyed by prompt, for texts that are taught under another conditioning. */
  const answered = new Set<string>()
  let hooks = plugin.create(settings)
  let step = 0
  let made = 0
  let left = 0

  const random = (stream: string) => createScriptedContext({ seed: options.seed ?? 1 }).random(stream)
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

  const groupOf = (
    prompt: PromptCoordinates,
    rewrite: Rewrite | undefined,
    rollouts: number,
    more: Partial<Group> = {},
    prefix?: Prefix,
  ): Group => {
    const number = made++
    const chance = random(`answers/${number}`)
    const { question, key } = SUMS.generate(prompt)
    if (rewrite?.tainted && context().leaks(prompt, `${rewrite.before ?? ''} ${rewrite.after ?? ''}`))
      problems.push(`a tainted rewrite of ${promptKey(prompt)} gives its answer ${key} away`)
    const source = prefix?.group.rollouts[prefix.rollout]
    const conditioning =
      source?.conditioning ??
      prefix?.group.conditioning ??
      tokensOf(`${rewrite?.before ?? ''}${question}${rewrite?.after ?? ''}`)
    const given = source ? textOf(source.tokens.subarray(0, prefix!.length)) : ''
    const answers: Rollout[] = Array.from({ length: rollouts }, () => {
      const answer = answerSum(prompt, rewrite?.arm ?? 'base', chance())
      const text = `${given}${answer.slice(given.length) || '.'}`
      const tokens = tokensOf(text)
      sampled.add(`${conditioning}|${tokens}`)
      answered.add(`${promptKey(prompt)}|${tokens}`)
      return {
        text,
        tokens,
        ...(known ? { behaviourLogprobs: Float32Array.from(tokens, () => -chance()) } : {}),
        entropies: Float32Array.from(tokens, () => chance()),
        segments: [{ version: step, start: 0, length: tokens.length }],
        finish: 'stop' as const,
        reward: SUMS.verify(SUMS.generate(prompt), text).score,
        ...(source && {
          prefix: given.length,
          lossMask: Uint8Array.from(tokens, (_, t) => (t < given.length ? 0 : 1)),
        }),
      }
    })
    return {
      id: number.toString(16).padStart(64, '0'),
      prompt,
      conditioning,
      author: SELF,
      policy: { lineage: 'a', tokenizer: 'b', version: step },
      arm: rewrite?.arm ?? (source ? 'continued' : 'base'),
      ...(rewrite?.tainted || prefix?.group.tainted ? { tainted: true } : {}),
      rollouts: answers,
      bornAt: step,
      bornVersion: step,
      ...more,
    }
  }

  /** A peer's group, half of it right. Cycles through the prompts that this policy never solves without a hint. */
  const theirs = (round: number): Group => {
    const hard = PROMPTS.filter(({ seed }) => seed % 3 === 0)
    const prompt = hard[round % hard.length]!
    const { question, key } = SUMS.generate(prompt)
    const conditioning = tokensOf(question)
    const rollouts = [key, `${key}0`].map((answer): Rollout => {
      const text = `A peer says: <answer>${answer}</answer>`
      const tokens = tokensOf(text)
      sampled.add(`${conditioning}|${tokens}`)
      return {
        text,
        tokens,
        segments: [{ version: round, start: 0, length: tokens.length }],
        finish: 'stop',
        reward: answer === key ? 1 : 0,
      }
    })
    return {
      id: `${round}`.padStart(64, 'f'),
      prompt,
      conditioning,
      author: 'peer',
      policy: { lineage: 'c', tokenizer: 'd', version: round },
      arm: 'base',
      rollouts,
      bornAt: round,
      bornVersion: step,
    }
  }

  const rewarded = async (group: Group): Promise<Group> => {
    const rewards = await hooks.reward?.(group, context())
    if (!rewards) return group
    const rollouts = group.rollouts.map((rollout, i) => ({
      ...rollout,
      reward: rewards[i]!,
      taskReward: rollout.reward,
    }))
    return { ...group, rollouts }
  }

  const composed = async (prompt: PromptCoordinates): Promise<Rewrite | undefined> => {
    const { question } = SUMS.generate(prompt)
    return (await hooks.compose?.({ prompt, question, turn: 0 }, context())) ?? undefined
  }

  const requested = async (request: Request): Promise<Group | undefined> => {
    const origin = {
      plugin: me,
      request: request.id,
      ...(request.parent === undefined ? {} : { parent: request.parent }),
      ...(request.chain === undefined ? {} : { chain: request.chain }),
      ...(request.rewrite?.level === undefined ? {} : { level: request.rewrite.level }),
      ...(request.rewrite?.items === undefined ? {} : { items: request.rewrite.items }),
    }
    const { prompt, rollouts, rewrite, prefix } = request
    if (prefix && (rewrite || !isWithin(prefix) || promptKey(prefix.group.prompt) !== promptKey(prompt)))
      problems.push('it continues what is no beginning of a rollout of the prompt')
    if (left <= 0) return undefined
    const shown = prefix ? undefined : (rewrite ?? (await composed(prompt)))
    const group = groupOf(prompt, shown, rollouts, { origin }, prefix)
    left -= group.rollouts.reduce((sum, one) => sum + one.tokens.length - (one.prefix ?? 0), 0)
    return rewarded(group)
  }

  /** Calls a flow plugin at 50% and 75% of generation, and leaves out the rollouts that it drops or parks. */
  const steered = async (groups: Group[]): Promise<Group[]> => {
    if (!hooks.steer) return groups
    const gone = new Set<string>()
    for (const share of [0.5, 0.75]) {
      const all = groups.flatMap(({ prompt, rollouts }, ask) =>
        rollouts.map((rollout, i) => ({ id: `${ask}.${i}`, ask, prompt, ...halfOf(rollout, share) })),
      )
      const live = all.filter(({ id }) => !gone.has(id))
      const left = (ask: number): number => live.filter((one) => one.ask === ask).length
      const asked = groups.map(({ prompt, rollouts: { length } }, ask) => ({
        ...{ prompt, rollouts: length, live: left(ask), done: 0 },
      }))
      const chosen = await hooks.steer(live, { version: step, want: ASKS, asks: asked }, context())
      note('steered', [...chosen])
      for (const [id, word] of chosen) {
        if (!['keep', 'park', 'cut', 'drop'].includes(word)) problems.push(`it steers to "${word}"`)
        if (!live.some((one) => one.id === id)) problems.push('it steers a rollout that is not being written')
        if (word === 'drop' || word === 'park') gone.add(id)
      }
    }
    return groups.flatMap((group, ask) => {
      const rollouts = group.rollouts.filter((_, i) => !gone.has(`${ask}.${i}`))
      return rollouts.length === 0 ? [] : [{ ...group, rollouts }]
    })
  }

  const asks = async () => {
    const weights = Float64Array.from((await hooks.weigh?.(PROMPTS, context())) ?? PROMPTS.map(() => 1))
    note('weights', weights)
    const view = {
      tasks: [{ name: SUMS.name, version: 1, difficulty: 2, minDifficulty: 1, maxDifficulty: 4 }],
      rollouts: ROLLOUTS,
      candidates: PROMPTS,
      weights,
    }
    const chosen = await hooks.select?.(view, ASKS, context())
    const first = (step * ASKS) % PROMPTS.length
    return (
      chosen ??
      Array.from({ length: ASKS }, (_, i) => ({
        prompt: PROMPTS[(first + i) % PROMPTS.length]!,
        rollouts: ROLLOUTS,
      }))
    )
  }

  return {
    get hooks() {
      return hooks
    },
    transcript,
    spent,
    problems,
    context,
    renew() {
      hooks = plugin.create(settings)
      return hooks
    },
    async round() {
      left = budget
      await hooks.receive?.([theirs(step)], context())
      const view: BatchView = { lineage: 'a', tokenizer: 'b', version: step, self: SELF }
      const chosen = await asks()
      note('asks', chosen)
      const written: Group[] = []
      for (const { prompt, rollouts } of chosen) {
        const rewrite = await composed(prompt)
        note('rewrite', rewrite)
        const origin = rewrite && { plugin: me, ...(rewrite.items ? { items: rewrite.items } : {}) }
        written.push(groupOf(prompt, rewrite, rollouts, origin ? { origin } : {}))
      }
      const own: Group[] = []
      for (const group of await steered(written)) own.push(await rewarded(group))
      const extra: Group[] = []
      const landed = new Map<string, Group>()
      for (let asked = 0; hooks.extend && asked < 16; asked++) {
        const requests = await hooks.extend(
          { ...view, groups: own, landed, asked, tokensLeft: Math.max(0, left) },
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
      const kept = (await hooks.group?.([...own, ...extra], { ...view, at: 'round' }, context())) ?? [
        ...own,
        ...extra,
      ]
      await hooks.observe?.(kept, context())
      const useful = kept.filter((group) => group.always || manifest.signal === 'any' || hasSignal(group))
      const batch = (await hooks.group?.([...useful], { ...view, at: 'batch' }, context())) ?? useful
      for (const group of batch) {
        for (const {
          tokens,
          conditioning = group.conditioning,
          replayed,
          behaviourLogprobs,
          taught,
        } of group.rollouts) {
          if (taught && behaviourLogprobs)
            problems.push('it gives a taught text log-probs of another conditioning')
          const isOwn = taught
            ? answered.has(`${promptKey(group.prompt)}|${tokens}`)
            : sampled.has(`${conditioning}|${tokens}`)
          if (!isOwn)
            problems.push('it trains on tokens under a conditioning that they were not sampled under')
          if (replayed !== undefined && !behaviourLogprobs)
            problems.push('it replays a rollout whose behaviour log-probs are not known')
        }
      }
      note('batch', batch)
      const centred: Advantages = batch.map(({ rollouts }) => {
        const mean = rollouts.reduce((sum, { reward }) => sum + reward, 0) / rollouts.length
        return rollouts.map(({ reward }) => reward - mean)
      })
      let advantages = (await hooks.advantage?.(batch, context())) ?? centred
      advantages = (await hooks.modify?.(advantages, batch, context())) ?? advantages
      checkShapes(advantages, batch, problems)
      note('advantages', advantages)
      const teaching = await hooks.teach?.(batch, context())
      if (teaching) checkTeaching(teaching, batch, problems)
      note('teaching', teaching)
      const columns = await hooks.columns?.(advantages, batch, context())
      if (columns) checkColumns(columns, hooks.correct?.() ?? {}, batch, problems)
      note('columns', columns)
      step += 1
      const given = await hooks.commit?.({ step, metrics: {}, groups: batch, advantages }, context())
      note('roles', given?.train)
      spent.push(budget - left)
    },
  }
}

function isWithin({ group, rollout, length }: Prefix): boolean {
  return length >= 1 && length < (group.rollouts[rollout]?.tokens.length ?? 0)
}

/** The view that a flow plugin gets of a rollout when this share of it has been generated. */
function halfOf({ tokens, behaviourLogprobs, entropies }: Rollout, share: number) {
  const length = Math.floor(share * tokens.length)
  const sum = (values: Float32Array | undefined): number =>
    Array.from(values ?? [])
      .slice(0, length)
      .reduce((total, value) => total + value, 0)
  const [logprob, entropy] = [sum(behaviourLogprobs), sum(entropies)]
  return { tokens: length, fresh: length, logprob, entropy, done: false }
}
