import { expect, test } from 'vitest'
import type { OtherModel } from '../../daemon/policy/live-policy.ts'
import { createTokenizer, type Tokenizer } from '../../daemon/policy/tokens/tokenizer.ts'
import { inOtherTokens, scoreByOther } from '../../daemon/rollout/plugins/other-teacher.ts'
import { asciiTokenizer, byteTokenizer } from '../policy/tokenizers.ts'

/** Whole words, single characters, single bytes; each with turns of its own. */
const words = createTokenizer(asciiTokenizer())
const bytes = createTokenizer(byteTokenizer('byte-level'))
const fallback = createTokenizer(byteTokenizer('byte-fallback'))

const ended = (tokenizer: Tokenizer, text: string): Int32Array => tokenizer.encodeCompletion(text, 'stop')
const of = (tokenizer: Tokenizer) => ({ tokenizer, stop: tokenizer.endOfTurn() })
const firsts = ({ ends }: ReturnType<typeof inOtherTokens>): number[] => ends.map(({ first }) => first)

test('an answer is the same bytes in the other tokens, and its end of turn is theirs', () => {
  const completion = ended(words, 'an answer')
  const other = inOtherTokens(completion, { from: words, to: of(bytes) })
  expect(other.completion).toEqual(ended(bytes, 'an answer'))
  // an, space, answer, end of turn.
  expect(other.ends).toEqual([
    { first: 1, second: 2 },
    { first: 2, second: 3 },
    { first: 3, second: 9 },
    { first: 4, second: 10 },
  ])
  const back = inOtherTokens(other.completion, { from: bytes, to: of(words) })
  expect(back.completion).toEqual(completion)
  expect(firsts(back)).toEqual([2, 3, 9, 10])
})

test('a character of several tokens is one chunk, and a broken one ends what is compared', () => {
  const whole = inOtherTokens(ended(bytes, 'é!'), { from: bytes, to: of(fallback) })
  expect(firsts(whole)).toEqual([1, 2, 3, 4])
  const [lead] = bytes.encode('é')
  const [mark] = bytes.encode('!')
  const broken = Int32Array.of(mark!, lead!, mark!, bytes.stopTokens[0]!)
  expect(firsts(inOtherTokens(broken, { from: bytes, to: of(fallback) }))).toEqual([1])
})

test('what the other tokens cannot say is not compared, nor anything after it', () => {
  const other = inOtherTokens(ended(bytes, 'aéb'), { from: bytes, to: of(words) })
  expect(firsts(other)).toEqual([1])
  expect(other.completion).toEqual(words.encode('a'))
})

test('a special token within an answer, or spelt out in it, ends what is compared', () => {
  const [stop] = words.stopTokens
  const odd = Int32Array.from([...words.encode('ab'), stop!, ...words.encode('cd')])
  expect(firsts(inOtherTokens(odd, { from: words, to: of(bytes) }))).toEqual([1, 2])
  const spelt = ended(words, 'a<|im_end|>b')
  expect(inOtherTokens(spelt, { from: words, to: of(bytes) }).completion).toEqual(bytes.encode('a'))
  const letters = Int32Array.from([
    ...[...'a<|im_end|>b'].flatMap((letter) => [...words.encode(letter)]),
    stop!,
  ])
  expect(inOtherTokens(letters, { from: words, to: of(bytes) }).completion).toEqual(bytes.encode('a'))
})

test('the last chunk of an answer that was cut off is not compared', () => {
  expect(firsts(inOtherTokens(words.encode('an sw'), { from: words, to: of(bytes) }))).toEqual([1, 2])
})

const asked = () => ({ question: 'why' })
const at = { task: 'any', taskVersion: 1, seed: 1, difficulty: 0 }

/** A teacher whose token at place i of an answer has log-prob -i. */
function teacherOf(tokenizer: Tokenizer, shared?: number) {
  const seen: { conditioning: Int32Array; completion: Int32Array }[] = []
  const teacher: Pick<OtherModel, 'score'> & { own: NonNullable<OtherModel['own']> } = {
    async score({ sequences, top }) {
      seen.push(...sequences)
      return sequences.map(({ completion }) => {
        const logprobs = Float32Array.from(completion, (_, i) => -i)
        return {
          ...{ logprobs, entropies: logprobs, collisions: logprobs },
          ...(top && { top: { count: 1, tokens: completion, logprobs } }),
        }
      })
    },
    own: { ...of(tokenizer), contextLength: 200, shared },
  }
  return { teacher, seen }
}

test('another model is asked in its own form, and its log-probs are summed by chunk', async () => {
  const { teacher, seen } = teacherOf(bytes)
  const item = { conditioning: words.encodePrompt('why'), completion: ended(words, 'an'), prompt: at }
  const [scored] = await scoreByOther(
    [item],
    { temperature: 1, top: 8 },
    { teacher, tokenizer: words, asked },
  )
  expect(seen).toMatchObject([{ conditioning: bytes.encodePrompt('why'), completion: ended(bytes, 'an') }])
  // The two letters are one token here: 0 + -1; then the end of the turn.
  expect(scored!.chunks).toEqual({ ends: Int32Array.of(1, 2), logprobs: Float32Array.of(-1, -2) })
  expect(scored!.top).toBeUndefined()
})

test('with the same tokens it gives its likeliest at each place, unless one is nobody else’s', async () => {
  const item = { conditioning: words.encodePrompt('why'), completion: ended(words, 'an'), prompt: at }
  const ask = async (shared: number) =>
    scoreByOther(
      [item],
      { temperature: 1, top: 1 },
      { teacher: teacherOf(words, shared).teacher, tokenizer: words, asked },
    )
  expect((await ask(200))[0]!.top?.tokens).toEqual(item.completion)
  expect((await ask(10))[0]).not.toHaveProperty('top')
})

test('it says nothing about a question with text around it, without a question, or too long for it', async () => {
  const { teacher, seen } = teacherOf(bytes)
  const item = { conditioning: words.encodePrompt('why'), completion: ended(words, 'an'), prompt: at }
  const { prompt: _, ...without } = item
  const items = [
    { ...item, conditioning: words.encodePrompt('why? A hint: b') },
    without,
    { ...item, completion: ended(words, 'an'.repeat(200)) },
  ]
  const scored = await scoreByOther(items, { temperature: 1, top: 8 }, { teacher, tokenizer: words, asked })
  expect(scored.map((one) => 'chunks' in one || 'top' in one)).toEqual([false, false, false])
  expect(seen).toEqual([])
})
