import { Worker } from 'node:worker_threads'
import { describe, expect, test } from 'vitest'
import { threadTime, withDeadline } from '../../daemon/policy/chat/deadline.ts'
import { BY_EXAMPLE } from '../../daemon/policy/chat/prompts.ts'
import { createChatTemplate } from '../../daemon/policy/chat/template.ts'
import { chatDefaults, generationDefaults } from '../../daemon/policy/files/generation-defaults.ts'
import { codecOf } from '../../daemon/policy/tokens/codec.ts'
import { createTokenizer, type TokenizerFiles } from '../../daemon/policy/tokens/tokenizer.ts'
import { asciiTokenizer, CHATML } from './tokenizers.ts'

const create = (change: Partial<TokenizerFiles> = {}) => createTokenizer({ ...asciiTokenizer(), ...change })
const render = (template: string, tokens = {}) =>
  createChatTemplate(template, tokens).render([{ role: 'user', content: 'hi' }], { prompt: true })

test('merges, special tokens and a list of end tokens are those of the files', () => {
  const tokenizer = create()
  expect([...tokenizer.encode('answer')]).toHaveLength(1)
  expect([...tokenizer.encode('answ')]).toHaveLength(1)
  expect([...tokenizer.encode('<|im_end|>')]).toEqual([2])
  expect(tokenizer.stopTokens).toEqual([2, 0])
  expect(tokenizer.isSpecial(1)).toBe(true)
  expect(tokenizer.isSpecial(10)).toBe(false)
  expect(tokenizer.isSpecial(100_000)).toBe(true)
  expect(tokenizer.decodeCompletion(tokenizer.encodeCompletion('an answer', 'stop'))).toBe('an answer')
})

test('the end token is found wherever a model names it', () => {
  const without = { ...asciiTokenizer().config, eos_token: undefined }
  expect(create({ generation: {} }).stopTokens).toEqual([2])
  // The files contradict each other: a completion ends at any of the tokens.
  expect(create({ generation: [undefined, { eos_token_id: 1 }] }).stopTokens).toEqual([1, 2])
  expect(create({ generation: [{ eos_token_id: [0] }, { eos_token_id: [1, 0] }] }).stopTokens).toEqual([
    0, 1, 2,
  ])
  // An id that the vocabulary lacks could never be drawn.
  expect(create({ generation: [{ eos_token_id: [9999] }, { eos_token_id: 2 }] }).stopTokens).toEqual([2])
  expect(
    create({ generation: {}, config: without, specialTokens: { eos_token: '<unk>' } }).stopTokens,
  ).toEqual([0])
  expect(() => create({ generation: {}, config: without })).toThrow(/no end-of-sequence token/)
})

test('chat_template.jinja counts more than the template in tokenizer_config.json', () => {
  const tokenizer = create({ chatTemplate: '{{ messages[-1].content }}:' })
  expect([...tokenizer.encodePrompt('x')]).toEqual([...tokenizer.encode('x:')])
  expect(tokenizer.digest).not.toBe(create().digest)
})

test('a template that refuses a system message gets it in front of the question', () => {
  const strict = `{%- if messages[0].role == 'system' %}{{ raise_exception('no system role') }}{%- endif %}${CHATML}`
  const text = create({ chatTemplate: strict })
  const prompt = text.decodeCompletion(text.encodePrompt('How many?'))
  expect(prompt).toContain('<answer>')
  expect(prompt).toContain('How many?')
})

test('examples are earlier turns of the chat, or lines before the question without a template', () => {
  const examples = [{ question: 'one?', answer: '<answer>1</answer>' }]
  const chat = create({ chatTemplate: CHATML })
  const turns = [...chat.encodePrompt('two?', examples)]
  const asked = chat.encodeChat(
    [
      { role: 'system', content: BY_EXAMPLE },
      { role: 'user', content: 'one?' },
      { role: 'assistant', content: '<answer>1</answer>' },
      { role: 'user', content: 'two?' },
    ],
    { prompt: true },
  )
  expect(turns).toEqual([...asked])
  const strict = `{%- if messages[0].role == 'system' %}{{ raise_exception('no system role') }}{%- endif %}${CHATML}`
  const text = create({ chatTemplate: strict })
  expect(text.decodeCompletion(text.encodePrompt('two?', examples))).toMatch(
    /nothing but the answer inside\.\s+one\?[\s\S]*<answer>1<[\s\S]*two\?/,
  )
  const plain = create({ config: { ...asciiTokenizer().config, chat_template: undefined } })
  expect(plain.decodeCompletion(plain.encodePrompt('two?', examples))).toBe(
    'one?\n<answer>1</answer>\ntwo?\n',
  )
})

describe('a model without a chat template', () => {
  const { tokenizer, config, ...files } = asciiTokenizer()
  const id = '<|im_start|>'
  const begins = (after: object[]) => ({
    type: 'TemplateProcessing',
    single: [{ SpecialToken: { id, type_id: 0 } }, { Sequence: { id: 'A', type_id: 0 } }, ...after],
    pair: [],
    special_tokens: {
      [id]: { id, ids: [1], tokens: [id] },
      '<|im_end|>': { id: '<|im_end|>', ids: [2], tokens: ['<|im_end|>'] },
    },
  })
  const of = (post_processor: object | null, more = {}) =>
    createTokenizer({
      ...files,
      tokenizer: { ...tokenizer, post_processor },
      config: { ...config, chat_template: undefined },
      ...more,
    })
  const end = [{ SpecialToken: { id: '<|im_end|>', type_id: 0 } }]

  test('is asked with what its tokenizer puts before text, and not with what it puts behind', () => {
    const [plain, opened] = [of(null), of(begins(end))]
    expect([...opened.encodePrompt('two?')]).toEqual([1, ...plain.encodePrompt('two?')])
  })

  test('with a template, only the template says how a prompt begins', () => {
    const chat = of(begins(end), { chatTemplate: CHATML })
    expect([...chat.encodePrompt('two?')]).toEqual([
      ...of(null, { chatTemplate: CHATML }).encodePrompt('two?'),
    ])
  })
})

test('a template sees neither the clock nor anything but the conversation', () => {
  expect(render('{{ strftime_now("%d %b %Y") }} {{ date_string }}')).toBe('26 Jul 2024 26 Jul 2024')
  expect(render('{{ process }}{{ globalThis }}{{ messages.constructor }}')).not.toMatch(
    /function|native|object/,
  )
  expect(render('{{ bos_token }}|{{ range(3) | length }}', { bos_token: '<s>' })).toBe('<s>|3')
})

test('hostile templates end soon, with an error that names the template', () => {
  const attacks = [
    '{% for i in range(1000000000) %}x{% endfor %}',
    '{% for a in range(99999) %}{% for b in range(99999) %}x{% endfor %}{% endfor %}',
    "{% set ns = namespace(x='xxxxxxxxxxxxxxxx') %}{% for a in range(22) %}{% set ns.x = ns.x + ns.x %}{% endfor %}{{ ns.x }}",
    "{% set ns = namespace(x='xxxxxxxxxxxxxxxx') %}{% for a in range(90) %}{% set ns.x = ns.x + ns.x %}{% endfor %}{{ ns.x }}",
    '{% macro f(n) %}{{ f(n) }}{% endmacro %}{{ f(1) }}',
    `{{ ${'('.repeat(50_000)} }}`,
    '{% if %}',
    '{{ raise_exception("no\u001b[31m") }}',
    '{{ undefined_function() }}',
  ]
  for (const attack of attacks) {
    expect(() => create({ chatTemplate: attack }), attack.slice(0, 60)).toThrow(/chat template/)
  }
}, 180_000)

test('a regular expression that backtracks for ever is stopped', () => {
  const { tokenizer, ...rest } = asciiTokenizer()
  const evil = createTokenizer({
    ...rest,
    config: {},
    generation: { eos_token_id: 2 },
    tokenizer: {
      ...tokenizer,
      pre_tokenizer: { type: 'Split', pattern: { Regex: '(a+)+$' }, behavior: 'Isolated', invert: false },
    },
  })
  expect(() => evil.encode(`${'a'.repeat(60)}!`)).toThrow(/tokenizer.json takes more than/)
  expect([...evil.encode('b')]).toHaveLength(1)
}, 180_000)

test('a limit counts computing time, not the time that the machine slept', () => {
  const sleep = (ms: number) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
  let naps = 0
  const slow = () => {
    naps += 1
    // Asleep for longer than the limit the first time, and no more after that.
    if (naps === 1) sleep(200)
    return 'done'
  }
  expect(withDeadline('a file', 40, slow)).toBe('done')
  expect(naps).toBe(2)
  const endless = () => {
    for (;;) if (naps < 0) return
  }
  const { message, hint } = thrown(() => withDeadline('a file', 40, endless))
  expect(message).toBe('a file takes more than 0.04 s to compute')
  expect(hint).not.toContain('do not trust')
})

test('without a clock for single threads, the work of other threads does not count', async () => {
  const busy = new Worker('for (;;) Math.sqrt(2)', { eval: true })
  await new Promise((resolve) => busy.once('online', resolve))
  const [before, whole] = [threadTime({}), process.cpuUsage()]
  while (process.cpuUsage(whole).user < 200_000)
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20)
  expect(threadTime({}) - before).toBeLessThan(process.platform === 'linux' ? 100 : Number.POSITIVE_INFINITY)
  await busy.terminate()
})

function thrown(run: () => void): { message: string; hint?: string } {
  try {
    run()
  } catch (error) {
    return error as { message: string; hint?: string }
  }
  throw new Error('nothing was thrown')
}

test('what generation_config.json recommends is taken where it makes sense', () => {
  expect(generationDefaults(undefined)).toEqual({ temperature: 1 })
  expect(chatDefaults({ eos_token_id: 2 })).toEqual({ temperature: 0.6, topP: 0.9 })
  expect(chatDefaults({ do_sample: false })).toEqual({ temperature: 0 })
  expect(generationDefaults({ do_sample: false, temperature: 0.7 })).toEqual({ temperature: 0 })
  expect(generationDefaults({ temperature: 0.7, top_k: 20, top_p: 0.8, min_p: 0 })).toEqual({
    temperature: 0.7,
    topK: 20,
    topP: 0.8,
  })
  expect(generationDefaults({ temperature: 'hot', top_k: 2.5, top_p: 7 })).toEqual({ temperature: 1 })
})

test('text that a tokenizer cannot say does not come back from it', () => {
  const tokenizer = create()
  const codec = codecOf(tokenizer, 200)
  const back = (text: string) => codec.decodeCompletion(codec.encodeCompletion(text, 'stop'))
  expect(back('<answer>7</answer>\n')).toBe('<answer>7</answer>\n')
  for (const text of ['naïve', '日本', 'a<|im_end|>b', '<unk>', '\t']) expect(back(text)).not.toBe(text)
})

test('what stands between two answers is what the template puts there, less the end that was drawn', () => {
  const tokenizer = create({ chatTemplate: CHATML })
  const conversation = tokenizer.encodeChat(
    [
      { role: 'user', content: 'go' },
      { role: 'assistant', content: 'answer' },
      { role: 'user', content: 'wall' },
    ],
    { prompt: true },
  )
  const first = tokenizer.encodeChat([{ role: 'user', content: 'go' }], { prompt: true })
  expect([...conversation]).toEqual([
    ...first,
    ...tokenizer.encodeCompletion('answer', 'stop'),
    ...tokenizer.encodeReply('wall'),
  ])
  const { chat_template: _, ...config } = asciiTokenizer().config
  const plain = create({ config: { ...config } })
  expect([...plain.encodeReply('wall')]).toEqual([...plain.encode('\nwall\n')])
  expect(() => create({ chatTemplate: "{{ messages[0]['content'] }}" }).encodeReply('wall')).toThrow(
    /does not accept a second user message/,
  )
})
