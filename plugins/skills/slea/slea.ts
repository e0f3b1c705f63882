// SLEA-RL (arXiv 2603.18079): a library of strategies and warnings, retrieved at every turn by the observation.
//
// Nothing is shown until five evolutions are done and ten entries exist. The entries of an observation's cluster come
// first, then the nearest entries of the library (`retrieval`: by words, or by the policy's states; the authors use an
// embedding model): two strategies and a warning, at most 800 characters. At later turns they use up part of the
// completion's tokens. On single-turn tasks the look-up is at turn 0, and there is no step advantage (with one turn it
// would equal the episode's). Extraction is ours, see extraction.ts; admission is in zones.ts. Peers' entries must
// first help in a trial, which tasks with turns do not have.

import { z } from 'zod'
import { type ComposeView, type Context, definePlugin } from '../../../protocol/plugin/index.ts'
import { promptKey } from '../../../protocol/train/index.ts'
import { tryOffer } from '../arise/trial.ts'
import type { Entry } from '../library/entry.ts'
import { createLibrary, fitting, usable } from '../library/library.ts'
import { createRetrieval, RETRIEVALS } from '../library/retrieval.ts'
import { createTally } from '../library/tally.ts'
import { notesOf } from '../library/text.ts'
import { createClusters } from './clusters.ts'
import { extract, trajectoriesOf } from './extraction.ts'
import { withTurns } from './step-advantage.ts'
import { admit, admitWithin, isStrategy, ZONES } from './zones.ts'

const settings = z.strictObject({
  /** Number of evolutions, and of entries (`smallest`), needed before anything is shown. */
  warmUp: z.number().int().nonnegative().default(5),
  smallest: z.number().int().nonnegative().default(10),
  /** How entries beyond the observation's own are found. */
  retrieval: z.enum(RETRIEVALS).default('words'),
  /** Trajectories of each kind per evolution, then the maximum entries of each kind that it admits. */
  trajectories: z.number().int().positive().default(5),
  strategies: z.number().int().nonnegative().default(10),
  warnings: z.number().int().nonnegative().default(5),
  /** Weight of the step advantage in tasks with turns; 0 for none. */
  weight: z.number().nonnegative().default(1),
  discount: z.number().min(0).max(1).default(0.95),
  normalise: z.enum(['mean', 'std']).default('mean'),
  /** Tokens for extraction and trials per round. */
  tokens: z.number().int().nonnegative().default(8192),
})

const TITLE = 'From earlier problems, and maybe wrong:'
const SHOWN = { strategies: 2, warnings: 1, characters: 800 }
const CHARACTERS = 240

export default definePlugin({
  name: 'slea',
  kind: 'skill',
  api: 1,
  summary: 'Strategies and warnings from past rollouts, looked up every turn.',
  settings,
  manifest: { needs: ['score'], testTime: 'frozen', budget: ({ tokens }) => ({ tokens }) },
  create(options) {
    const library = createLibrary({ zones: ZONES, characters: CHARACTERS })
    const tally = createTally()
    const clusters = createClusters()
    let evolutions = 0
    /** Look-up results by task and observation, cached until the library changes. */
    let lookedUp = new Map<string, Entry[]>()
    const retrieval = createRetrieval(options.retrieval)

    const retrieve = async (
      observation: string,
      at: { task: string; context: Context },
    ): Promise<Entry[]> => {
      const key = `${at.task}\n${observation}`
      const known = lookedUp.get(key)
      if (known) return known
      const linked = clusters
        .linked(observation, at.context.phase === 'train')
        .flatMap((id) => library.find(id) ?? [])
      const others = library.entries().filter((entry) => !linked.includes(entry))
      const ordered = [...linked]
      for (const isWanted of [isStrategy, (zone: string) => !isStrategy(zone)]) {
        const some = others.filter(({ zone }) => isWanted(zone))
        ordered.push(...(await retrieval.nearest(some, observation, at.context)))
      }
      if (lookedUp.size >= 1024) lookedUp = new Map()
      lookedUp.set(key, ordered)
      return ordered
    }

    return {
      async compose({ prompt, question, observation = question }: ComposeView, context) {
        if (evolutions < options.warmUp || library.size < options.smallest) return undefined
        const found = await retrieve(observation, { task: prompt.task, context })
        const ordered = usable(found, prompt, context)
        const strategies = ordered.filter(({ zone }) => isStrategy(zone)).slice(0, SHOWN.strategies)
        const warnings = ordered.filter(({ zone }) => !isStrategy(zone)).slice(0, SHOWN.warnings)
        const write = (entries: readonly Entry[]): string =>
          notesOf(
            entries.map(({ zone, text }) => (isStrategy(zone) ? text : `Beware: ${text}`)),
            TITLE,
          )
        const shown = fitting([...strategies, ...warnings], write, prompt, context)
        const before = write(shown)
        if (before === '' || before.length > SHOWN.characters) return undefined
        return { before, arm: 'skill', tainted: false, items: shown.map(({ id }) => id) }
      },

      modify: (advantages, groups) =>
        options.weight === 0
          ? advantages
          : groups.map((group, g) => withTurns(group, advantages[g]!, options)),

      async observe(groups, context) {
        if (groups.length === 0) return
        const trajectories = trajectoriesOf(groups, options.trajectories)
        const entries = await extract(trajectories, { library, tally }, context)
        const added = admitWithin(library, entries, options)
        const prompts = new Map(trajectories.map(({ group }) => [promptKey(group.prompt), group.prompt]))
        for (const { id, from } of added) clusters.link(context.question(prompts.get(from)!), id)
        const offered = await tryOffer(library, groups, context, (text) => notesOf([text], TITLE))
        if (offered) admit(library, offered.entry)
        for (const id of groups.flatMap(({ origin }) => origin?.items ?? [])) {
          const entry = library.find(id)
          if (entry) library.put({ ...entry, uses: entry.uses + 1 })
        }
        evolutions += 1
        lookedUp = new Map()
        context.metric('entries', library.size)
        tally.report(context)
        context.metric('admitted', added.length)
      },

      share: () => library.share(),
      merge: (remote, from) => library.offers.merge(remote, from),
      save: () => library.save({ evolutions, clusters: clusters.save() }),
      load(state) {
        const extra = library.load(state) as { evolutions: number; clusters: unknown }
        clusters.load(extra.clusters)
        evolutions = extra.evolutions
        lookedUp = new Map()
      },
    }
  },
})
