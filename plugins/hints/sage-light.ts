// SAGE-light (arXiv 2602.03143): chooses the strength of a prompt's hint before its rollouts, from the results of
// the prompt's last visit. It needs no second set of rollouts, but prompts must recur.
//
//   paper  up one level if the last pass rate was below `alpha`, never down
//   code   up if it was at most `low`, down if it was above `high` (the released script's 0.1 and 0.35)
//
// Level 0 is no hint, and the first visit has none. At each visit the current policy writes hints for all
// levels at once. If that fails, the hints of the last visit are used again; if there are none, the prompt
// stays plain.

import { z } from 'zod'
import { type Context, definePlugin, type Rewrite } from '../../protocol/plugin/index.ts'
import { type Group, type PromptCoordinates, promptKey } from '../../protocol/train/index.ts'
import { createTally, type Tally } from '../skills/library/tally.ts'
import { passRate, tokensSetting } from './groups.ts'
import { type Ladder, type LadderOptions, ladderSettings, writeLadders } from './ladder-hints.ts'

const settings = z.strictObject({
  ...ladderSettings,
  rule: z.enum(['paper', 'code']).default('paper'),
  alpha: z.number().min(0).max(1).default(0.35),
  low: z.number().min(0).max(1).default(0.1),
  high: z.number().min(0).max(1).default(0.35),
  /** A rollout is right if its score is above this. */
  threshold: z.number().min(0).max(1).default(0.5),
  /** Maximum number of prompts remembered; the least recently visited one is forgotten first. */
  remembered: z.number().int().positive().max(4096).default(2048),
  tokens: tokensSetting,
})
type Settings = z.output<typeof settings>

/** Pass rates kept per prompt. */
const HISTORY = 8

interface HintLevel {
  level: number
  history: number[]
  /** The last hints that could be parsed. */
  ladder?: Ladder
}

const saved = z.array(
  z.tuple([
    z.string(),
    z.strictObject({
      level: z.number().int().min(0),
      history: z.array(z.number()),
      ladder: z.array(z.string().optional()).optional(),
    }),
  ]),
)

export default definePlugin({
  name: 'sage_light',
  kind: 'hint',
  api: 1,
  summary: 'Hints before the rollouts, with a strength set by the last visit.',
  settings,
  manifest: {
    needs: ['privileged', 'recurring'],
    conflicts: ['hill', 'sage', 'scaf_grpo'].map((name) => ({
      with: `hint/${name}`,
      because: 'it hints prompts before they are asked, the other after they failed',
    })),
    budget: ({ tokens }) => ({ tokens, stateBytes: 64 * 1024 * 1024 }),
  },
  create(options) {
    const tally = createTally()
    const memories = new Map<string, HintLevel>()
    const remember = (key: string, memory: HintLevel): void => {
      memories.delete(key)
      memories.set(key, memory)
      if (memories.size > options.remembered) memories.delete(memories.keys().next().value!)
    }
    return {
      save: () => new TextEncoder().encode(JSON.stringify([...memories])),
      load(state) {
        memories.clear()
        const entries = saved.parse(JSON.parse(new TextDecoder().decode(state), withoutNull))
        for (const [key, memory] of entries)
          remember(key, { ...memory, level: clamp(memory.level, options) } as HintLevel)
      },

      async compose({ prompt, turn }, context): Promise<Rewrite | undefined> {
        const memory = memories.get(promptKey(prompt))
        if (turn > 0 || context.phase === 'eval' || !memory || memory.level === 0) return undefined
        memory.ladder = (await ladderFor(prompt, options, { context, tally })) ?? memory.ladder ?? []
        const after = strongest(memory.ladder, memory.level)
        return after === undefined ? undefined : { after, arm: 'hint', tainted: true, level: memory.level }
      },

      observe(groups) {
        for (const group of groups) {
          if (!isVisit(group)) continue
          const key = promptKey(group.prompt)
          const { level, history, ladder } = memories.get(key) ?? { level: 0, history: [] }
          const rate = passRate(group, options.threshold)
          remember(key, {
            level: clamp(level + change(rate, options), options),
            history: [...history, rate].slice(-HISTORY),
            ...(ladder && { ladder }),
          })
        }
      },
    }
  },
})

/** The change of the level after a visit. */
function change(rate: number, { rule, alpha, low, high }: Settings): number {
  if (rule === 'paper') return rate < alpha ? 1 : 0
  return rate <= low ? 1 : rate > high ? -1 : 0
}

function clamp(level: number, { levels }: Settings): number {
  return Math.max(0, Math.min(levels, level))
}

async function ladderFor(
  prompt: PromptCoordinates,
  options: LadderOptions,
  by: { context: Context; tally: Tally },
): Promise<Ladder | undefined> {
  if (by.context.privileged(prompt) === null) return undefined
  return (await writeLadders([prompt], options, by))[0]
}

/** The hint of this level, or of the next lower level that has one. */
function strongest(ladder: Ladder, level: number): string | undefined {
  return ladder.slice(0, level).findLast((hint) => hint !== undefined)
}

/** False for extra groups requested by a plugin, which say nothing about the plain prompt. */
function isVisit({ origin }: Group): boolean {
  return origin?.request === undefined
}

/** JSON turns a missing level into null. */
function withoutNull(_: string, value: unknown): unknown {
  return value === null ? undefined : value
}
