// Groups of a task with turns, from one node to another over the wire: what a peer did is done again.

import { expect, test } from 'vitest'
import { createTaskBook } from '../../../daemon/rollout/tasks.ts'
import { Verifier } from '../../../daemon/swarm/admission/verify.ts'
import type { Codec } from '../../../daemon/swarm/types.ts'
import task from '../../../plugins/tasks/environments/keys-and-doors.ts'
import { TURN_MARK } from '../../../protocol/plugin/index.ts'
import type { Group } from '../../../protocol/train/index.ts'
import {
  decodeGroup,
  draftOf,
  encodeGroup,
  type GroupDraft,
  openFrame,
} from '../../../protocol/wire/index.ts'
import { testSigner } from '../../protocol/wire/cases.ts'
import { characterTokenizer } from '../../rollout/characters.ts'
import { play, plugin } from '../../rollout/play.ts'
import { stillClock } from '../groups.ts'

const tokenizer = characterTokenizer()
const at = { task: task.name, taskVersion: task.version, seed: 5, difficulty: 0 }
const way = task.generate(at).key.split(TURN_MARK)

/** Half of them walk straight to the goal, half do not get away from where they are. */
async function written(): Promise<Group> {
  const playing = await play({
    write(prompt, { seed }) {
      const turn = (prompt.match(/\d,\d /g) ?? []).length
      return prompt.includes('hm') || (turn === 0 && seed % 2 === 0) ? 'hm' : (way[turn] ?? 'U')
    },
    tasks: [task],
    chosen: [{ name: task.name, difficulty: 0 }],
    maxNewTokens: 400,
    plugins: [
      plugin(
        'door',
        'selector',
        { select: ({ rollouts }) => [{ prompt: at, rollouts }] },
        { claims: ['picker'] },
      ),
    ],
    host: { selector: { use: 'door' } },
  })
  const { groups } = await playing.round({ want: 1 })
  return groups[0]!
}

function received(draft: GroupDraft, codec: Partial<Codec> = {}, most = 400) {
  const verifier = new Verifier(
    { maxCompletionTokens: most },
    {
      tasks: createTaskBook([task], [{ name: task.name }]),
      codec: { ...tokenizer, tokenizer: tokenizer.digest, ...codec },
      clock: stillClock(),
      version: () => 7,
    },
  )
  const frame = encodeGroup({ ...draft, sequence: 1, createdAt: 2 }, testSigner(1))
  const group = decodeGroup(openFrame(frame, 65_536))
  return verifier.verify({ group, source: group.author, bytes: frame.length })
}

const plain = ({ rollouts }: Group) =>
  rollouts.map(({ text, tokens, lossMask, turns, reward }) => ({ text, tokens, lossMask, turns, reward }))

test('a node of the same tokenizer has the turns, masks, rewards and log-probs that the author had', async () => {
  const own = await written()
  const result = received(draftOf(own))
  if (!('group' in result)) throw new Error(result.refused)
  expect(plain(result.group)).toEqual(plain(own))
  expect(new Set(own.rollouts.map(({ reward }) => reward)).size).toBeGreaterThan(1)
  result.group.rollouts.forEach(({ behaviourLogprobs }, r) => {
    const { lossMask, behaviourLogprobs: sent } = own.rollouts[r]!
    behaviourLogprobs!.forEach((logprob, i) => {
      if (lossMask![i]) expect(logprob).toBeCloseTo(sent![i]!, 3)
      else expect(logprob).toBe(0)
    })
  })
})

test('a node of another tokenizer has the same turns and rewards from the text alone', async () => {
  const own = await written()
  const result = received(draftOf(own), { tokenizer: 'f0'.repeat(32) })
  if (!('group' in result)) throw new Error(result.refused)
  expect(plain(result.group)).toEqual(plain(own))
  expect(result.group.rollouts.every(({ behaviourLogprobs }) => behaviourLogprobs === undefined)).toBe(true)
})

test('an episode that did not happen so is refused', async () => {
  const draft = draftOf(await written())
  const change = (run: (one: GroupDraft['rollouts'][number]) => object): GroupDraft => ({
    ...draft,
    rollouts: draft.rollouts.map((one) => ({ ...one, ...run(one) })),
  })
  const forged = change(({ tokens }) => {
    const other = tokens!.slice()
    // A word of the environment's: the first observation begins right after the first answer's end.
    other[other.indexOf(0) + 2]! += 1
    return { tokens: other }
  })
  expect(received(forged)).toMatchObject({ refused: 'tokens' })
  expect(received(change(({ text }) => ({ text: `${text}${TURN_MARK}U` })))).toMatchObject({
    refused: 'tokens',
  })
  const textOnly = change(({ text }) => ({
    text: `${text}${TURN_MARK.repeat(99)}`,
    tokens: undefined,
    behaviourLogprobs: undefined,
  }))
  for (const one of textOnly.rollouts) {
    delete one.tokens
    delete one.behaviourLogprobs
  }
  expect(received(textOnly)).toMatchObject({ refused: 'text' })
  expect(received(draft, {}, 20)).toMatchObject({ refused: 'long' })
  expect(received(draft, { tokenizer: 'f0'.repeat(32) }, 20)).toMatchObject({ refused: 'long' })
})
