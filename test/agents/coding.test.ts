// Coding agents: the first requests of Claude Code 2.1.328 and Codex 0.169.0 as they were recorded (`-p` and `exec`;
// long texts are cut, and Claude Code's tools), and what follows them.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { type Opened, type TestGateway, testGateway } from './gateway.ts'

// biome-ignore lint/suspicious/noExplicitAny: bodies of two APIs
const recorded = (name: string): any => ({
  ...JSON.parse(readFileSync(join(import.meta.dirname, 'recorded', `${name}.json`), 'utf8')),
  model: 'tiny',
})
const CLIENTS = [
  ['Claude Code', '/messages', recorded('claude-code')],
  ['Codex', '/responses', recorded('codex')],
] as const

let g: TestGateway
const shown: string[] = []
afterEach(async () => {
  await g.close()
  shown.length = 0
})

const open = (write: (prompt: string) => string, more = {}) =>
  testGateway({
    write(prompt) {
      shown.push(prompt)
      return write(prompt)
    },
    ...{ context: 65_536, modelContext: 65_536 },
    ...more,
  })
const ask = (rollout: Opened, path: string, body: object) =>
  g.post(`${rollout.base_url}${path}`, body, rollout.api_key)
const callOf = (name: string, values: object): string =>
  `<tool_call>${JSON.stringify({ name, arguments: values })}</tool_call>`

/** As newer models have them: one system message, at the start, and then user and assistant in turn. */
const STRICT = `{% for message in messages %}{% if message.role == 'system' and not loop.first %}{{ raise_exception('System message must be at the beginning.') }}{% endif %}{% if not loop.first and message.role == loop.previtem.role %}{{ raise_exception('Roles must alternate') }}{% endif %}<{{ message.role }}>{{ message.content }}
{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}`
/** Without any. */
const NO_SYSTEM = STRICT.replace('and not loop.first %}{{ raise', '%}{{ raise')

describe.each(CLIENTS)("%s's first request", (_, path, body) => {
  const question = 'What does add.py do?'

  it.each([
    ['any template', undefined],
    ['one that takes a system message only at the start, and roles in turn', STRICT],
    ['one that takes none', NO_SYSTEM],
  ])('is answered with %s, with all of its words in order', async (_, chatTemplate) => {
    g = await open(() => 'It adds.', chatTemplate ? { chatTemplate } : {})
    const { status, body: answer } = await ask(await g.open(), path, { ...body, stream: false })
    expect([status, JSON.stringify(answer)]).toEqual([200, expect.stringContaining('It adds.')])
    const texts = JSON.stringify(body.system ?? body.input).match(/"text":"[^"\\]{8,40}/g)!
    const places = texts.map((text) => shown[0]!.indexOf(JSON.parse(`${text.slice(7)}"`)))
    expect(places.every((at) => at >= 0)).toBe(true)
    expect(shown[0]).toContain(question)
    for (const { name, type, tools } of body.tools) {
      const wanted = type === 'namespace' ? `"${name}.${tools[0].name}"` : `"${name}"`
      if (type !== 'web_search') expect(shown[0]).toContain(wanted)
    }
  })

  it('that does not fit is refused with the numbers, and nothing is cut', async () => {
    g = await open(() => 'never', { context: 1024, modelContext: 2048 })
    const { status, body: answer } = await ask(await g.open(), path, body)
    expect(status).toBe(400)
    expect(JSON.stringify(answer)).toMatch(
      /the prompt has \d{4,5} tokens; a conversation may have 1024 .* context has 2048/,
    )
    expect(shown).toEqual([])
  })
})

it('calls of several tools in one answer, and their results, are one sequence for Claude Code', async () => {
  const calls = `Both.${callOf('Read', { file_path: 'add.py' })}${callOf('Bash', { command: 'ls' })}`
  g = await open((prompt) => (prompt.includes('tool_response') ? 'Done.' : calls), { groupSize: 2 })
  const body = { ...recorded('claude-code'), stream: false }
  for (const value of [0, 1]) {
    const rollout = await g.open({ group: 'one' })
    const first = (await ask(rollout, '/messages', body)).body
    expect(first.stop_reason).toBe('tool_use')
    expect(first.content.map(({ type, name }: { type: string; name?: string }) => name ?? type)).toEqual([
      ...['text', 'Read', 'Bash'],
    ])
    const results = first.content.slice(1).map(({ id }: { id: string }, i: number) => ({
      ...{ type: 'tool_result', tool_use_id: id, content: [{ type: 'text', text: `result ${i}` }] },
    }))
    const messages = [
      ...body.messages,
      { role: 'assistant', content: first.content },
      { role: 'user', content: results },
    ]
    expect((await ask(rollout, '/messages', { ...body, messages })).body.stop_reason).toBe('end_turn')
    expect(shown.at(-1)!.indexOf('result 0')).toBeLessThan(shown.at(-1)!.indexOf('result 1'))
    await g.reward(rollout, value)
  }
  expect(g.groups[0]!.rollouts).toHaveLength(2)
  expect(g.info().split).toBe(0)
})

it('calls of several tools in one answer, and their results, are one sequence for Codex', async () => {
  const calls = `${callOf('exec_command', { cmd: 'ls' })}${callOf('multi_agent_v1.close_agent', { target: 'a' })}`
  g = await open((prompt) => (prompt.includes('result 1') ? 'Done.' : calls), { groupSize: 2 })
  const body = { ...recorded('codex'), stream: false }
  for (const value of [0, 1]) {
    const rollout = await g.open({ group: 'one' })
    const { output } = (await ask(rollout, '/responses', body)).body
    expect(output.map(({ type, name }: { type: string; name?: string }) => [type, name])).toEqual([
      ['function_call', 'exec_command'],
      ['function_call', 'close_agent'],
    ])
    const results = output.map(({ call_id }: { call_id: string }, i: number) => ({
      ...{ type: 'function_call_output', call_id, output: `result ${i}` },
    }))
    const input = [...body.input, ...output, ...results]
    expect((await ask(rollout, '/responses', { ...body, input })).body.output[0].type).toBe('message')
    await g.reward(rollout, value)
  }
  expect(g.groups[0]!.rollouts).toHaveLength(2)
})

it('a history that the client compacted is a branch with the same reward, and counted as such', async () => {
  g = await open(() => 'Answer.', { groupSize: 2 })
  const body = { ...recorded('claude-code'), stream: false }
  for (const value of [0, 1]) {
    const rollout = await g.open({ group: 'one' })
    await ask(rollout, '/messages', body)
    const summary = [{ role: 'user', content: 'So far: add.py adds two numbers. Go on.' }]
    await ask(rollout, '/messages', { ...body, messages: summary })
    await g.reward(rollout, value)
  }
  expect(g.groups[0]!.rollouts.map(({ reward }) => reward)).toEqual([0, 0, 1, 1])
  expect(g.info()).toMatchObject({ groups: 1, rows: 4, split: 2 })
})
