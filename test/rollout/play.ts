// Whole rounds on a script: the daemon's round and plugin host, real plugins, an engine that writes what the test says.

import { z } from 'zod'
import { createPluginHost, type PluginHostOptions, type PluginTrouble } from '../../daemon/host/host.ts'
import type { Tokenizer } from '../../daemon/policy/tokens/tokenizer.ts'
import {
  createParkedGroups,
  type ParkedGroup,
  type ParkedGroups,
} from '../../daemon/rollout/parked/parked.ts'
import type { Speaker } from '../../daemon/rollout/plugins/plugin-texts.ts'
import { createPluginWorld } from '../../daemon/rollout/plugins/plugin-world.ts'
import { playRound, type Round } from '../../daemon/rollout/round.ts'
import { createTaskBook, type TaskChoice } from '../../daemon/rollout/tasks.ts'
import { CORRECTIONS } from '../../plugins/corrections/index.ts'
import { ESTIMATORS } from '../../plugins/estimators/index.ts'
import { SELECTORS } from '../../plugins/selectors/index.ts'
import { TASKS } from '../../plugins/tasks/index.ts'
import type { Phases } from '../../protocol/api/index.ts'
import {
  definePlugin,
  type Hooks,
  type Manifest,
  NEEDS,
  type Need,
  type Plugin,
  type Task,
} from '../../protocol/plugin/index.ts'
import { type PromptCoordinates, reopenRow, type TokenRow } from '../../protocol/train/index.ts'
import { readRecord } from '../../protocol/train/record.ts'
import { characterTokenizer } from './characters.ts'
import { createScriptedEngine, type ScriptedEngine, type ScriptOptions } from './scripted-engine.ts'

export interface PlayOptions {
  write: ScriptOptions['write']
  logprobs?: NonNullable<ScriptOptions['logprobs']>
  /** Beside the built-in estimators, corrections and selectors. */
  plugins?: readonly Plugin[]
  /** What models of plugins write, by role. */
  roles?: Readonly<Record<string, ScriptOptions['write']>>
  /** Which of them are used, as in the config. */
  host?: Partial<PluginHostOptions>
  tasks?: readonly Task[]
  chosen?: readonly TaskChoice[]
  want?: number
  groupSize?: number
  maxNewTokens?: number
  context?: number
  maxStaleness?: number
  phases?: Pick<Phases, 'run'>
}

/** A plugin of a few hooks, without settings. */
export function plugin(name: string, kind: Plugin['kind'], hooks: Hooks, manifest?: Manifest): Plugin {
  const summary = 'Does what a test says.'
  const settings = z.strictObject({})
  return definePlugin({
    name,
    kind,
    api: 1,
    summary,
    settings,
    ...(manifest ? { manifest } : {}),
    create: () => hooks,
  })
}

export interface Playing {
  readonly engine: ScriptedEngine
  readonly host: Awaited<ReturnType<typeof createPluginHost>>
  readonly parked: ParkedGroups
  readonly troubles: readonly PluginTrouble[]
  round(changes?: {
    version?: number
    want?: number
    signal?: AbortSignal
    candidates?: readonly PromptCoordinates[]
    isVoid?: () => boolean
  }): Promise<Round>
}

/** An engine that both writes and scores. */
export const speakerOf = (engine: ScriptedEngine, tokenizer: Tokenizer): Speaker => ({
  sampler: engine,
  scorer: engine,
  tokenizer,
})

type Parked = Omit<ParkedGroup, 'sequences'> & {
  sequences: (TokenRow & Omit<ParkedGroup['sequences'][number], 'row'>)[]
}

/** What a list holds, as it would be saved. */
export function parkedIn(list: ParkedGroups): Parked[] {
  const saved = list.save()
  const groups = saved === undefined ? [] : (readRecord('parked/4', saved) as ParkedGroup[])
  return groups.map((group) => ({
    ...group,
    sequences: group.sequences.map(({ row, ...one }) => ({ ...one, ...reopenRow(row) })),
  }))
}

export const LINEAGE = 'a'.repeat(64)

export async function play(options: PlayOptions): Promise<Playing> {
  const { maxNewTokens = 64, context = 512, groupSize = 4 } = options
  const tokenizer = characterTokenizer()
  const tasks = createTaskBook(
    options.tasks ?? TASKS,
    options.chosen ?? [{ name: 'basic_arithmetic', difficulty: 0 }],
  )
  const engine = createScriptedEngine({
    tokenizer,
    write: options.write,
    ...(options.logprobs && { logprobs: options.logprobs }),
  })
  const troubles: PluginTrouble[] = []
  const host = await createPluginHost(
    {
      estimator: { use: 'grpo' },
      corrections: [{ use: 'clip' }],
      selector: { use: 'uniform' },
      seed: 1,
      offers: new Set(Object.keys(NEEDS) as Need[]),
      ...options.host,
    },
    {
      builtIn: [...ESTIMATORS, ...CORRECTIONS, ...SELECTORS, ...(options.plugins ?? [])],
      importPlugin: async (specifier) => {
        throw new Error(`${specifier} is not given to this test`)
      },
      now: () => 0,
      sleep: (_, signal) => new Promise((_, reject) => signal.addEventListener('abort', reject)),
      log() {},
      onTrouble: (trouble) => troubles.push(trouble),
    },
  )
  const limits = { context, completion: maxNewTokens }
  const roles = new Map(
    Object.entries(options.roles ?? {}).map(([role, write]) => [
      role,
      speakerOf(createScriptedEngine({ tokenizer, write }), tokenizer),
    ]),
  )
  const world = createPluginWorld({ limits }, { tasks, policy: speakerOf(engine, tokenizer), roles })
  await host.open(world, 0)
  const parked = createParkedGroups()
  let seed = 0
  return {
    engine,
    host,
    parked,
    troubles,
    round({ version = engine.version, want = options.want ?? 2, signal, candidates, isVoid } = {}) {
      engine.version = version
      return playRound(
        {
          view: { tasks: tasks.view, rollouts: groupSize, ...(candidates && { candidates }) },
          want,
          policy: { lineage: LINEAGE, tokenizer: tokenizer.digest, version },
          maxNewTokens,
          context,
          vocabulary: 0x110_000 + 4,
          temperature: 1,
          maxStaleness: options.maxStaleness ?? 8,
          author: 'me',
          sampleSeed: () => seed++,
          now: () => 1000,
          signal,
          ...(isVoid ? { isVoid } : {}),
        },
        {
          ...{ sampler: engine, tokenizer, tasks, hooks: host.round({ step: version }), parked },
          phases: options.phases,
        },
      )
    },
  }
}
