// Chat templates mean what Python's Jinja makes of them, and hostile ones end soon.

import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { createChatTemplate } from '../../daemon/policy/chat/template.ts'
import { createTokenizer } from '../../daemon/policy/tokens/tokenizer.ts'
import { parseExactly } from '../../protocol/json.ts'
import { asciiTokenizer, CHATML } from './tokenizers.ts'

interface Fixture {
  messages: never[]
  tools: never[]
  rows: [template: string, text: string | null][]
}

/** Made by scripts/fixtures/templates.py. */
const { messages, tools, rows } = parseExactly(
  readFileSync(new URL('fixtures/templates.json', import.meta.url), 'utf8'),
) as Fixture

const render = (source: string): string =>
  createChatTemplate(source, {}).render([{ role: 'user', content: 'hi' }], { prompt: true })

describe('beside Python', () => {
  test('there are some hundred constructs', () => {
    expect(rows.length).toBeGreaterThan(800)
  })

  test.each(rows.filter(([, text]) => text !== null))('%s', (source, text) => {
    expect(createChatTemplate(source, {}).render(messages, { prompt: true, tools })).toBe(text)
  })

  test.each(rows.filter(([, text]) => text === null))('%s is refused', (source) => {
    expect(() => createChatTemplate(source, {}).render(messages, { prompt: true, tools })).toThrow(
      /chat template cannot be used/,
    )
  })
})

test('what Python has and this interpreter lacks is refused by name', () => {
  expect(() => render('{{ [1] | random }}')).toThrow(/no filter "random"/)
  expect(() => render('{{ 1 is strange }}')).toThrow(/no test "strange"/)
  expect(() => render("{% include 'x' %}")).toThrow(/statement that is not supported, found "include"/)
  expect(() => render("{{ '{:n}'.format(1) }}")).toThrow(/the format "n" is not supported/)
  expect(() => render("{{ strftime_now('%Q') }}")).toThrow(/does not know "%Q"/)
  expect(() => render('a\n{{ messages[0].items }}')).toThrow(/writes a callable as text \(line 2\)/)
})

test('the date has the format that the template asks for, and is always the same', () => {
  expect(render("{{ strftime_now('%Y-%m-%d %A %-d %B, %H:%M') }}")).toBe('2024-07-26 Friday 26 July, 00:00')
})

const SELF = '{% set ns = namespace(x=[1], y=[1], k=[]) %}{% for i in range(90000) %}'

/** What they try: time, or memory. */
const ATTACKS: Record<string, string> = {
  'doubles a list and keeps copies': `${SELF}{% set ns.x = ns.x + ns.x %}{% set ns.k = ns.k + [ns.x] %}{% endfor %}`,
  'keeps lists': `${SELF}{% set ns.k = [ns.k, range(90000) | list] %}{% endfor %}`,
  'keeps texts': `${SELF}{% set ns.k = [ns.k, 'x' * 90000] %}{% endfor %}`,
  'keeps dicts': `${SELF}{% for j in range(99) %}{% set ns.k = [ns.k, dict(a=1, b=2)] %}{% endfor %}{% endfor %}`,
  'replaces by more':
    "{% set ns = namespace(x='a') %}{% for i in range(99) %}{% set ns.x = ns.x.replace('a', 'aaaaaaaa') %}{% endfor %}",
  'writes a list that holds itself': `${SELF}{% set ns.x = [ns.x, ns.x] %}{% if i > 60 %}{{ ns.x }}{% endif %}{% endfor %}`,
  'writes it as JSON': `${SELF}{% set ns.x = [ns.x, ns.x] %}{% if i > 60 %}{{ ns.x | tojson }}{% endif %}{% endfor %}`,
  'compares two of them': `${SELF}{% set ns.x = [ns.x, ns.x] %}{% set ns.y = [ns.y, ns.y] %}{% if i > 60 and ns.x == ns.y %}x{% endif %}{% endfor %}`,
  'uses tuples of tuples as keys': `${SELF}{% set ns.x = (ns.x, ns.x) %}{% if i > 60 %}{{ {ns.x: 1} }}{% endif %}{% endfor %}`,
  'searches a text':
    "{% for i in range(9000) %}{% set _ = (('a' * 1000000) + 'b') in 'a' * 2000000 %}{% endfor %}",
  'joins by a long text': "{{ (['a'] * 90000) | join('b' * 90000) }}",
  'pads a text': "{{ 'a'.center(1000000000) }}",
  'computes with huge numbers': `${SELF}{% set ns.x = 3 if i == 0 else ns.x * ns.x %}{% endfor %}`,
  'loops in loops': '{% for i in range(90000) %}{% for j in range(90000) %}{% endfor %}{% endfor %}',
  'calls itself twice': '{% macro f(n) %}{{ f(n - 1) ~ f(n - 1) if n }}{% endmacro %}{{ f(80) }}',
  'calls itself for ever': '{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}',
  'has many tags': '{%- if 1 %}'.repeat(20_000),
  'has a tag in a tag': '{{'.repeat(100_000),
  'is long': 'x'.repeat(300_000),
}

test.each(Object.entries(ATTACKS))('a template that %s is stopped', (_, source) => {
  const before = process.memoryUsage().rss
  const started = process.cpuUsage()
  expect(() => render(source)).toThrow(/chat template cannot be used/)
  const { user, system } = process.cpuUsage(started)
  expect((user + system) / 1e6).toBeLessThan(20)
  expect((process.memoryUsage().rss - before) / 1024 ** 2).toBeLessThan(400)
})

test('a long conversation is within the limits', () => {
  const long = Array.from({ length: 1024 }, (_, i) => ({
    role: i % 2 === 0 ? ('user' as const) : ('assistant' as const),
    content: `${'x'.repeat(2000)}</think>\n\n${'y'.repeat(1000)}`,
  }))
  const source =
    "{% for m in messages %}{% set c = m.content.split('</think>')[-1].lstrip('\\n') if '</think>' in m.content else m.content %}<|im_start|>{{ m.role }}\n{{ c | trim }}<|im_end|>\n{% endfor %}"
  expect(createChatTemplate(source, {}).render(long, { prompt: true })).toHaveLength(1024 * 1024 + 512 * 13)
})

describe('a model with a template for tools', () => {
  const named = [
    { name: 'default', template: CHATML },
    { name: 'tool_use', template: `{% for t in tools %}{{ t.function.name }};{% endfor %}${CHATML}` },
  ]
  const create = (chat_template: unknown) =>
    createTokenizer({ ...asciiTokenizer(), config: { ...asciiTokenizer().config, chat_template } })

  test('shows the tools through it, and plain chat through the default', () => {
    const { template } = create(named)
    const asked = [{ role: 'user' as const, content: 'hi' }]
    const add = { type: 'function' as const, function: { name: 'add' } }
    expect(template!.render(asked, { prompt: true, tools: [add] })).toMatch(/^add;<\|im_start\|>user/)
    expect(template!.render(asked, { prompt: true })).toMatch(/^<\|im_start\|>user/)
  })

  test('is another model than one without', () => {
    expect(create(named).digest).not.toBe(create(CHATML).digest)
    expect(create(named.slice(0, 1)).digest).toBe(create(CHATML).digest)
  })
})
