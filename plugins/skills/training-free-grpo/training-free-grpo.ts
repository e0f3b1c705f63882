// Training-Free GRPO (arXiv 2510.08191): learning without gradients. Comparing the rollouts of a prompt gives
// edits of a list of experiences, and the list is put before every question.
//
// In each round it takes groups with both right and wrong rollouts. The policy summarises each rollout, criticises
// each group in the form of edits, and merges all edits into one plan, with three attempts; if none can be parsed,
// the list stays unchanged. The policy sees rewards but not the right answer (so the list may be used in evaluation),
// and an edit that reveals an answer of this round is dropped. The wording of the prompts is ours. A round
// corresponds to a batch in the paper; the list is bounded.

import { z } from 'zod'
import { definePlugin } from '../../../protocol/plugin/index.ts'
import { isRight, promptKey } from '../../../protocol/train/index.ts'
import { tryOffer } from '../arise/trial.ts'
import type { Entry } from '../library/entry.ts'
import { createLibrary, fitting, usable } from '../library/library.ts'
import { createTally } from '../library/tally.ts'
import { notesOf } from '../library/text.ts'
import { plan, propose } from './criticism.ts'
import { applyEdits, type Edit, type Item, numbered } from './edits.ts'

const settings = z.strictObject({
  /** Maximum number of groups criticised per round. */
  groups: z.number().int().positive().default(4),
  /** False to criticise rollouts without summarising them. */
  summaries: z.boolean().default(true),
  /** Maximum length of the list. */
  experiences: z.number().int().positive().max(256).default(64),
  temperature: z.number().positive().default(0.7),
  /** Tokens for all generation per round. */
  tokens: z.number().int().nonnegative().default(65_536),
})

const TITLE = 'Read these experiences first; they may be wrong:'
const ZONE = 'experience'

export default definePlugin({
  name: 'training_free_grpo',
  kind: 'skill',
  api: 1,
  summary: 'Experiences in the prompt instead of updates of the policy.',
  settings,
  manifest: {
    testTime: 'frozen',
    requires: [{ plugin: 'estimator/none', because: 'it learns by editing its list, not by gradients' }],
    budget: ({ tokens }) => ({ tokens }),
  },
  create({ groups: most, summaries, experiences, temperature, tokens: _ }) {
    const library = createLibrary({ zones: { [ZONE]: experiences }, characters: 400 })
    const tally = createTally()
    // The score is the entry's index in the list, which keeps the order.
    const list = (): Item[] => library.entries(ZONE)
    const setList = (items: readonly Item[]): void => {
      for (const { id } of library.entries()) library.remove(id)
      // Keep only the newest entries.
      items.slice(-experiences).forEach((item, place) => {
        const entry = library.admit({ ...item, zone: ZONE, score: 0 - place })
        if (entry) library.put(entry)
      })
    }
    const shown = (): string => numbered(list().map(({ text }) => text)).join('\n') || '(none)'

    return {
      compose({ prompt, turn }, context) {
        if (turn > 0) return undefined
        const write = (entries: readonly Entry[]): string =>
          notesOf(numbered(entries.map(({ text }) => text)), TITLE)
        const some = fitting(usable(library.entries(ZONE), prompt, context), write, prompt, context)
        if (some.length === 0) return undefined
        return { before: write(some), arm: 'experience', tainted: false, items: some.map(({ id }) => id) }
      },

      async observe(groups, context) {
        const mixed = groups.filter(
          ({ rollouts, tainted }) => !tainted && rollouts.some(isRight) && !rollouts.every(isRight),
        )
        const proposed: Edit[] = []
        for (const group of mixed.slice(0, most)) {
          const edits = await propose(group, { shown: shown(), temperature, summaries }, context)
          // Undefined if it could not be requested.
          if (edits) tally.count(edits !== 'unreadable')
          if (Array.isArray(edits)) proposed.push(...edits)
        }
        const useful = proposed.filter(({ operation }) => operation !== 'NONE')
        const edits =
          useful.length > 0 ? await plan(useful, { shown: shown(), temperature }, context) : undefined
        if (edits) {
          const safe = edits.filter(
            (edit) =>
              !('content' in edit) || groups.every(({ prompt }) => !context.leaks(prompt, edit.content)),
          )
          const made = { from: promptKey(mixed[0]!.prompt), author: 'self', step: context.step }
          if (safe.length > 0) setList(applyEdits(list(), safe, made))
        }
        const offered = await tryOffer(library, groups, context, (text) => notesOf([text], TITLE))
        if (offered) setList([...list(), offered.entry])
        context.metric('experiences', library.size)
        tally.report(context)
      },

      share: () => library.share(),
      merge: (remote, from) => library.offers.merge(remote, from),
      save: () => library.save(),
      load: (state) => void library.load(state),
    }
  },
})
