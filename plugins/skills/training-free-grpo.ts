// Training-Free GRPO (arXiv 2510.08191): no gradient. What rollouts of a prompt show against one another becomes edits of
// a list of experiences, and the list is put before every question.
//
// Per round: groups with right and wrong rollouts; each rollout is summed up, the group is criticised into edits, and all
// edits become one plan, with three tries: if none can be read, the list stays as it is. Rewards are shown to the writer,
// the right answer is not (so that a list may be used in evaluation), and an edit that gives an answer of this round
// away is left out. Asked in our words. A round stands for a batch of the paper; the list is bounded.

import { z } from 'zod'
import { definePlugin } from '../../protocol/plugin/index.ts'
import { promptKey } from '../../protocol/train/index.ts'
import { plan, propose } from './criticism.ts'
import { applyEdits, type Edit, type Item, numbered } from './edits.ts'
import type { Entry } from './entry.ts'
import { createLibrary, fitting, usable } from './library.ts'
import { createTally } from './tally.ts'
import { notesOf } from './text.ts'
import { isRight, tryOffer } from './trial.ts'

const settings = z.strictObject({
  /** Groups of a round that are criticised, at most. */
  groups: z.number().int().positive().default(4),
  /** False to criticise rollouts as they are. */
  summaries: z.boolean().default(true),
  /** Longest list. */
  experiences: z.number().int().positive().max(256).default(64),
  temperature: z.number().positive().default(0.7),
  /** Tokens for all writing of a round. */
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
    requires: [{ plugin: 'estimator/none', because: 'it learns by editing its list, and not by gradients' }],
    budget: ({ tokens }) => ({ tokens }),
  },
  create({ groups: most, summaries, experiences, temperature, tokens: _ }) {
    const library = createLibrary({ zones: { [ZONE]: experiences }, characters: 400 })
    const tally = createTally()
    // Its score is an entry's place in the list, so that the order is kept.
    const list = (): Item[] => library.entries(ZONE)
    const setList = (items: readonly Item[]): void => {
      for (const { id } of library.entries()) library.remove(id)
      // Newest ones stay.
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
          // Undefined: it could not be asked for.
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
