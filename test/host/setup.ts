// A plugin host on a scripted world and a clock that only sleeping moves.

import { z } from 'zod'
import type { World } from '../../daemon/host/contract.ts'
import {
  createPluginHost,
  type PluginHost,
  type PluginHostOptions,
  type PluginTrouble,
} from '../../daemon/host/host.ts'
import { CORRECTIONS } from '../../plugins/corrections/index.ts'
import { ESTIMATORS } from '../../plugins/estimators/index.ts'
import { SELECTORS } from '../../plugins/selectors/index.ts'
import basicArithmetic from '../../plugins/tasks/arithmetic/basic-arithmetic.ts'
import {
  definePlugin,
  type Hooks,
  type Manifest,
  NEEDS,
  type Need,
  type Plugin,
  type PluginKind,
} from '../../protocol/plugin/index.ts'
import { tokensOf } from '../../protocol/plugin/testing/index.ts'
import { HELD_OUT_SEED, type PromptCoordinates } from '../../protocol/train/index.ts'

export const VIEW = { lineage: 'a', tokenizer: 'b', version: 3, self: 'me' }
export const ALL_NEEDS: ReadonlySet<Need> = new Set(Object.keys(NEEDS) as Need[])

export const at = (seed: number): PromptCoordinates => ({
  task: basicArithmetic.name,
  taskVersion: basicArithmetic.version,
  seed,
  difficulty: 1,
})
export const heldOut = at(HELD_OUT_SEED)
export const keyOf = (prompt: PromptCoordinates): string => basicArithmetic.generate(prompt).key
export const SELECT_VIEW = {
  tasks: [
    {
      name: basicArithmetic.name,
      version: basicArithmetic.version,
      difficulty: 1,
      minDifficulty: 0,
      maxDifficulty: 6,
    },
  ],
  rollouts: 4,
}
export const composeView = (prompt: PromptCoordinates) => ({
  prompt,
  question: basicArithmetic.generate(prompt).question,
  turn: 0,
})

export function plugin(
  name: string,
  kind: PluginKind,
  hooks: Hooks | (() => Hooks),
  manifest: Manifest = {},
): Plugin {
  return definePlugin({
    name,
    kind,
    api: 1,
    summary: `${name} of a test.`,
    settings: z.strictObject({}),
    manifest,
    create: typeof hooks === 'function' ? hooks : () => hooks,
  })
}

/** Writes `x` as often as it is asked to, and stops at what is left; takes `ms` for it. */
export function scriptedWorld(clock: { now: number }, ms = 0): World {
  return {
    async generate(requests, { tokens }) {
      clock.now += ms
      let left = tokens
      const texts = requests.map(({ prompt, n, maxNewTokens = 10 }) =>
        Array.from({ length: n }, () => {
          const text = 'x'.repeat(Math.min(left, maxNewTokens))
          left -= text.length
          return {
            text,
            conditioning: tokensOf(prompt),
            tokens: tokensOf(text),
            logprobs: new Float32Array(text.length).fill(-1),
            finish: 'stop' as const,
            version: 0,
          }
        }),
      )
      const asked = requests.reduce((sum, { n, maxNewTokens = 10 }) => sum + n * maxNewTokens, 0)
      return { texts, cut: asked > tokens }
    },
    score: async (items) =>
      items.map(({ completion }) => ({
        logprobs: new Float32Array(completion.length),
        entropies: new Float32Array(completion.length),
        collisions: new Float32Array(completion.length),
      })),
    teachers: () => [],
    answer: () => Promise.reject(new Error('there are no teachers here')),
    instance: (prompt) => basicArithmetic.generate(prompt),
    verify: (prompt, completion) => basicArithmetic.verify(basicArithmetic.generate(prompt), completion),
    conditioning: (prompt, { before = '', after = '' } = {}) =>
      tokensOf(`${before}${basicArithmetic.generate(prompt).question}${after}`),
    encode: tokensOf,
    limits: { context: 512, completion: 64 },
  }
}

export interface SetUp {
  plugins: PluginHost
  troubles: PluginTrouble[]
  clock: { now: number }
}

const TABLES: Partial<Record<PluginKind, 'hints' | 'replay' | 'skills' | 'controls'>> = {
  hint: 'hints',
  replay: 'replay',
  skill: 'skills',
  control: 'controls',
  selector: 'controls',
}

export function make(plugins: readonly Plugin[], options: Partial<PluginHostOptions> = {}, ms = 0) {
  const troubles: PluginTrouble[] = []
  const clock = { now: 0 }
  const tables: Record<string, { use: string }[]> = { hints: [], replay: [], skills: [], controls: [] }
  for (const { kind, name } of plugins) {
    const table = TABLES[kind]
    if (table && !(kind === 'selector' && options.selector?.use === name)) tables[table]!.push({ use: name })
  }
  const corrections = plugins.filter(({ kind }) => kind === 'correction').map(({ name }) => ({ use: name }))
  const made = createPluginHost(
    {
      estimator: { use: 'grpo' },
      corrections: [{ use: 'clip' }, ...corrections],
      selector: { use: 'uniform' },
      seed: 1,
      offers: ALL_NEEDS,
      ...tables,
      ...options,
    },
    {
      builtIn: [...ESTIMATORS, ...CORRECTIONS, ...SELECTORS, ...plugins],
      importPlugin: async (specifier) => {
        throw new Error(`cannot find ${specifier}`)
      },
      now: () => clock.now,
      // Long enough for what has an answer to give it first.
      sleep: async (wait) => {
        for (let turn = 0; turn < 50; turn++) await null
        clock.now += wait
      },
      log() {},
      onTrouble: (trouble) => troubles.push(trouble),
    },
  )
  return { made, troubles, clock, world: scriptedWorld(clock, ms) }
}

export async function setUp(
  given: readonly Plugin[],
  options: Partial<PluginHostOptions> = {},
  ms = 0,
): Promise<SetUp> {
  const { made, troubles, clock, world } = make(given, options, ms)
  const plugins = await made
  await plugins.open(world, 0)
  return { plugins, troubles, clock }
}

/** State of skills alone: the default picker has some of its own. */
export const saved = async (plugins: PluginHost) =>
  (await plugins.save()).filter(({ plugin: id }) => id.startsWith('skill/'))
