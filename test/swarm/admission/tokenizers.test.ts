// Two nodes with different tokenizers: the text is what counts, put under the receiver's own template and tokens.

import { fileURLToPath } from 'node:url'
import { beforeAll, expect, test } from 'vitest'
import { loadModel, type Model } from '../../../daemon/policy/model.ts'
import { codecOf } from '../../../daemon/policy/tokens/codec.ts'
import { createTokenizer } from '../../../daemon/policy/tokens/tokenizer.ts'
import { nodeDisk as disk } from '../../../daemon/store/node-disk.ts'
import { Verifier } from '../../../daemon/swarm/admission/verify.ts'
import type { SharedGroup } from '../../../protocol/wire/index.ts'
import { asciiTokenizer } from '../../policy/tokenizers.ts'
import { draft, stillClock, sums, tasks } from '../groups.ts'

let bytes: Model
const ascii = createTokenizer(asciiTokenizer())

beforeAll(async () => {
  bytes = await loadModel(fileURLToPath(new URL('../../../models/default', import.meta.url)), { disk })
})

const receive = (codec: ReturnType<typeof codecOf>) =>
  new Verifier({ maxCompletionTokens: 200 }, { tasks, codec, clock: stillClock(), version: () => 7 })

/** As the author with the byte tokenizer shares it: its own tokens and log-probs come along. */
function shared(texts: readonly string[]): SharedGroup {
  const { author = 'someone', ...rest } = draft(5) as unknown as SharedGroup
  const { digest } = bytes.tokenizer
  return {
    ...rest,
    author,
    policy: { ...rest.policy, tokenizer: digest },
    rollouts: texts.map((text) => {
      const tokens = bytes.tokenizer.encodeCompletion(text, 'stop')
      return {
        text,
        finish: 'stop' as const,
        tokens,
        behaviourLogprobs: new Float32Array(tokens.length).fill(-0.5),
        segments: [{ version: 3, start: 0, length: tokens.length }],
      }
    }),
  } as SharedGroup
}

test('foreign text is put under the own template and tokens, and loses the log-probs of other tokens', () => {
  const { key, question } = sums.generate({ seed: 5, difficulty: 2 })
  const right = `so <answer>${key}</answer>`
  const verifier = receive(codecOf(ascii, 200))
  const result = verifier.verify({ group: shared([right, 'no <answer>1</answer>']), id: 'x' } as never)
  if (!('group' in result)) throw new Error(`refused: ${result.refused}`)
  const { conditioning, rollouts } = result.group
  expect([...conditioning]).toEqual([...ascii.encodePrompt(question)])
  expect(ascii.decodeCompletion(conditioning)).toContain(question)
  expect([...rollouts[0]!.tokens]).toEqual([...ascii.encodeCompletion(right, 'stop')])
  expect(rollouts[0]!.tokens.at(-1)).toBe(ascii.stopTokens[0])
  expect(rollouts[0]!.behaviourLogprobs).toBeUndefined()
  expect(rollouts.map(({ reward }) => reward)).toEqual([1, 0])
  expect(verifier.droppedTexts).toBe(0)
})

test('text that does not survive the own tokenizer is counted and left out; the rest of the group stays', () => {
  const { key } = sums.generate({ seed: 5, difficulty: 2 })
  const verifier = receive(codecOf(ascii, 200))
  const texts = [
    `naïve <answer>${key}</answer>`,
    `<answer>${key}</answer>`,
    '<answer>1</answer>',
    '日本',
    'a<|im_end|>b',
  ]
  const result = verifier.verify({ group: shared(texts), id: 'x' } as never)
  expect('group' in result && result.group.rollouts.map(({ text }) => text)).toEqual(texts.slice(1, 3))
  expect(verifier.droppedTexts).toBe(3)
  // With fewer than two left there is nothing to compare.
  expect(verifier.verify({ group: shared(['日本', 'é', 'plain']), id: 'y' } as never)).toEqual({
    refused: 'text',
  })
  expect(verifier.droppedTexts).toBe(5)
})

test('under the same tokenizer token ids and log-probs are kept', () => {
  const { key } = sums.generate({ seed: 5, difficulty: 2 })
  const verifier = receive(codecOf(bytes.tokenizer, bytes.spec.vocabulary))
  const texts = [`naïve 日本 <answer>${key}</answer>`, '<answer>1</answer>']
  const result = verifier.verify({ group: shared(texts), id: 'x' } as never)
  expect('group' in result && result.group.rollouts[0]!.behaviourLogprobs?.[0]).toBe(-0.5)
  expect(verifier.droppedTexts).toBe(0)
})
