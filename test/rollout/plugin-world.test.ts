import { expect, test } from 'vitest'
import type { Teachers } from '../../daemon/policy/teachers.ts'
import { createPluginWorld } from '../../daemon/rollout/plugins/plugin-world.ts'
import { createTaskBook } from '../../daemon/rollout/tasks.ts'
import { plainText } from '../../daemon/rollout/writing/conditioning.ts'
import { TASKS } from '../../plugins/tasks/index.ts'
import { characterTokenizer } from './characters.ts'
import { createScriptedEngine } from './scripted-engine.ts'

const tokenizer = characterTokenizer()
const { signal } = new AbortController()

function setUp(write: (prompt: string, at: { seed: number }) => string, teachers?: Teachers) {
  const engine = createScriptedEngine({ tokenizer, write })
  const hinter = createScriptedEngine({ tokenizer, write: (prompt) => `hint for ${prompt}` })
  const world = createPluginWorld(
    { limits: { context: 64, completion: 20 }, temperature: 0.7 },
    {
      tasks: createTaskBook(TASKS, [{ name: 'basic_arithmetic', difficulty: 0 }]),
      policy: { sampler: engine, scorer: engine, tokenizer },
      roles: new Map([
        ['hinter', { sampler: hinter, scorer: hinter, tokenizer, spec: { contextLength: 32 } }],
      ]),
      ...(teachers && { teachers }),
    },
  )
  const generate = (requests: Parameters<typeof world.generate>[0], tokens: number, seed = 1) =>
    world.generate(requests, { tokens, seed, signal })
  return { engine, hinter, world, generate }
}

test('tokens are bounded before they are written, and what was not needed is there for the next request', async () => {
  const { generate, engine } = setUp(() => 'abcd')
  const request = { prompt: 'p', n: 2, maxNewTokens: 10 }
  const enough = await generate([request, request, request], 40)
  expect(enough.cut).toBe(false)
  expect(enough.texts.flat().map(({ text }) => text)).toEqual(Array(6).fill('abcd'))
  // Two of them can take 40 tokens together; the third begins when these have taken 20.
  expect(engine.requests.map(({ samples }) => samples.length)).toEqual([4, 2])

  const { generate: again, engine: other } = setUp(() => 'abcdefghijklmnop')
  const cut = await again([request, request], 25)
  expect(cut.cut).toBe(true)
  expect(other.drawn).toBeLessThanOrEqual(25)
  expect(cut.texts.map((texts) => texts.map(({ text }) => text.length))).toEqual([
    [10, 10],
    [2, 2],
  ])
})

test('the same requests and seed give the same texts, another seed others', async () => {
  const { generate } = setUp((prompt, { seed }) => `${prompt}${seed % 97}`)
  const requests = [
    { prompt: 'a', n: 3 },
    { prompt: 'b', n: 2, temperature: 0.5 },
  ]
  const texts = async (seed: number) => (await generate(requests, 1000, seed)).texts
  expect(await texts(1)).toEqual(await texts(1))
  expect(await texts(1)).not.toEqual(await texts(2))
  expect(new Set((await texts(1))[0]!.map(({ text }) => text)).size).toBeGreaterThan(1)
})

test('examples of a request are earlier turns', async () => {
  const { generate } = setUp((prompt) => prompt)
  const ask = async (examples: { question: string; answer: string }[]) =>
    (await generate([{ prompt: 'p', examples, n: 1 }], 1000)).texts[0]![0]!.conditioning
  const shown = { question: 'ask', answer: 'say' }
  expect(await ask([shown])).toEqual(tokenizer.encodePrompt('p', [shown]))
  expect(await ask([])).toEqual(tokenizer.encodePrompt('p'))
})

test('a role has a model of its own; one that there is none for is an error', async () => {
  const { generate, engine } = setUp(() => 'policy')
  const { texts } = await generate(
    [
      { role: 'hinter', prompt: 'p', n: 1 },
      { prompt: 'p', n: 1 },
    ],
    1000,
  )
  expect(texts.map(([one]) => one!.text)).toEqual(['hint for p', 'policy'])
  expect(engine.requests).toHaveLength(1)
  await expect(generate([{ role: 'critic', prompt: 'p', n: 1 }], 10)).rejects.toThrow(/"critic"/)
})

test('text of a plugin cannot bring in special tokens, not even in halves', () => {
  const special = '<|end|>'
  const encoder = {
    encode: (text: string) =>
      Int32Array.from(
        text
          .split(special)
          .flatMap((part, i) => [...(i > 0 ? [0] : []), ...[...part].map((c) => c.charCodeAt(0))]),
      ),
    decodeCompletion: (tokens: Int32Array) => String.fromCharCode(...tokens),
    isSpecial: (token: number) => token === 0,
  }
  expect(plainText(encoder, 'as it is')).toBe('as it is')
  expect(plainText(encoder, `a${special}b`)).toBe('ab')
  expect(plainText(encoder, `a<|e${special}nd|>b`)).toBe('ab')
})

test('a prompt that leaves no room gets empty texts, and it is said; the others are answered', async () => {
  const { generate, engine } = setUp(() => 'abc')
  const long = { prompt: 'p'.repeat(80), n: 2 }
  const { texts, cut, unasked } = await generate([long, { prompt: 'p', n: 1 }], 100)
  expect(texts.map((of) => of.map(({ text, tokens }) => [text, tokens.length]))).toEqual([
    [
      ['', 0],
      ['', 0],
    ],
    [['abc', 4]],
  ])
  expect([cut, unasked]).toEqual([
    false,
    expect.stringMatching(/82 tokens leaves no room to answer within 64/),
  ])
  expect(engine.requests).toHaveLength(1)
})

test('the model of a role has a limit of its own', async () => {
  const { generate, hinter } = setUp(() => 'abc')
  const { texts, unasked } = await generate(
    [
      { role: 'hinter', prompt: 'p'.repeat(20), n: 1 },
      { role: 'hinter', prompt: 'p'.repeat(40), n: 1 },
    ],
    100,
  )
  expect(hinter.requests[0]?.samples.map(({ maxNewTokens }) => maxNewTokens)).toEqual([10])
  expect(texts[1]![0]!.text).toBe('')
  expect(unasked).toMatch(/42 tokens leaves no room to answer within 32/)
})

test('hidden states come from the scorer of the role, and only when a plugin wants them', async () => {
  const { world, engine, hinter } = setUp(() => 'abc')
  const asked: Array<[string, boolean | undefined, number]> = []
  for (const [name, speaker] of [
    ['policy', engine],
    ['hinter', hinter],
  ] as const)
    speaker.score = async ({ sequences, hidden }) => {
      asked.push([name, hidden, sequences.length])
      return sequences.map(({ completion }) => ({
        logprobs: new Float32Array(completion.length),
        entropies: new Float32Array(completion.length),
        collisions: new Float32Array(completion.length),
        ...(hidden && { hidden: new Float32Array(2 * completion.length).fill(name === 'policy' ? 1 : 2) }),
      }))
    }
  const item = { conditioning: Int32Array.of(1), completion: Int32Array.of(2, 3) }
  const items = [item, { ...item, role: 'hinter' }, item]
  const scored = await world.score(items, { hidden: true, signal })
  expect(scored.map(({ hidden }) => [...hidden!])).toEqual([
    [1, 1, 1, 1],
    [2, 2, 2, 2],
    [1, 1, 1, 1],
  ])
  expect((await world.score(items, { signal }))[0]).not.toHaveProperty('hidden')
  expect(asked).toEqual([
    ['policy', true, 2],
    ['hinter', true, 1],
    ['policy', false, 2],
    ['hinter', false, 1],
  ])
})

/** Teachers who keep what they are asked, and write their names. */
function playedTeachers(writes: (name: string | undefined) => string) {
  const asked: { name: string | undefined; temperature: number; top?: number | undefined }[] = []
  const teachers: Teachers = {
    list: () => [{ name: 'peer/a', version: 1, claims: [] }],
    ask: (name, run) =>
      run({
        async score({ sequences, temperature, top }) {
          asked.push({ name, temperature, top })
          return sequences.map(({ completion }) => {
            const none = new Float32Array(completion.length)
            return { logprobs: none, entropies: none, collisions: none }
          })
        },
        async generate({ samples, temperature }) {
          asked.push({ name, temperature })
          return samples.map(() => {
            const tokens = tokenizer.encode(writes(name))
            const none = new Float32Array(tokens.length)
            const numbers = { logprobs: none, policyLogprobs: none, entropies: none }
            return { tokens, ...numbers, finish: 'stop' as const, version: 0 }
          })
        },
      }),
  }
  return { teachers, asked }
}

const questionAt = (seed: number) => {
  const task = TASKS.find(({ name }) => name === 'basic_arithmetic')!
  return { prompt: { task: task.name, taskVersion: task.version, seed, difficulty: 0 } }
}

test('a teacher scores and answers at the temperature that rollouts are sampled at', async () => {
  const { teachers, asked } = playedTeachers((name) => `by ${name}`)
  const { world } = setUp(() => '', teachers)
  const items = [{ conditioning: Int32Array.of(1), completion: Int32Array.of(2) }]
  await world.score(items, { teacher: 'peer/a', top: 3, signal })
  const options = { teacher: 'peer/a', tokens: 100, seed: 1, signal }
  const [answer] = await world.answer([questionAt(1)], options)
  expect(answer!.text).toBe('by peer/a')
  expect(asked).toEqual([
    { name: 'peer/a', temperature: 0.7, top: 3 },
    { name: 'peer/a', temperature: 0.7 },
  ])
  expect(world.teachers().map(({ name }) => name)).toEqual(['peer/a'])
})

test('answers that the budget cannot hold at full length are not asked for', async () => {
  const { teachers } = playedTeachers(() => 'yes')
  const { world } = setUp(() => '', teachers)
  const questions = [1, 2, 3].map(questionAt)
  const answers = await world.answer(questions, { teacher: 'peer/a', tokens: 45, seed: 1, signal })
  expect(answers.map(({ text }) => text)).toEqual(['yes', 'yes', ''])
})

test('a node without teachers says so', async () => {
  const { world } = setUp(() => '')
  expect(world.teachers()).toEqual([])
  await expect(
    world.score([{ conditioning: Int32Array.of(1), completion: Int32Array.of(2) }], {
      teacher: 'begin',
      signal,
    }),
  ).rejects.toThrow('no teachers')
})
