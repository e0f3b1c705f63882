// Clients from npm, unchanged, in the folder where they are installed: what each gets as the answer to a question.
//
//   node clients.mjs URL KEY
// (import from the current folder)

import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'

const [url, key] = process.argv.slice(2)
const require = createRequire(`${process.cwd()}/`)
const load = async (name) => await import(pathToFileURL(require.resolve(name)).href)
const messages = [{ role: 'user', content: 'Work out 4 + 7' }]
const [model, max_tokens] = ['waggle', 24]
const input_schema = { type: 'object', properties: { a: { type: 'number' } } }
/** A form of the answer, in which it must be a whole number of two digits. */
const schema = { type: 'integer', minimum: 10, maximum: 99 }
const formed = (text) => {
  const value = JSON.parse(text)
  if (!Number.isInteger(value) || value < 10 || value > 99) throw new Error(`${text} is not of the form`)
  return text
}

const { default: Anthropic } = await load('@anthropic-ai/sdk')
const anthropic = new Anthropic({ baseURL: url, apiKey: key })
const { Ollama } = await load('ollama')
const ollama = new Ollama({ host: url, headers: { authorization: `Bearer ${key}` } })
const { default: OpenAI } = await load('openai')
const openai = new OpenAI({ baseURL: `${url}/v1`, apiKey: key })

const CALLS = {
  '@anthropic-ai/sdk': async () => {
    const { content, stop_reason } = await anthropic.messages.create({ model, max_tokens, messages })
    return `${content[0]?.text} (${stop_reason})`
  },
  '@anthropic-ai/sdk, streamed, with a tool': async () => {
    const tools = [{ name: 'add', description: 'adds', input_schema }]
    const { content } = await anthropic.messages.stream({ model, max_tokens, messages, tools }).finalMessage()
    return content[0]?.text
  },
  '@anthropic-ai/sdk, count_tokens': async () =>
    `${(await anthropic.messages.countTokens({ model, messages })).input_tokens} tokens`,
  '@anthropic-ai/sdk, output_config': async () => {
    const output_config = { format: { type: 'json_schema', schema } }
    const { content } = await anthropic.messages.create({ model, max_tokens, messages, output_config })
    return formed(content[0].text)
  },
  'ollama, format': async () =>
    formed((await ollama.chat({ model, messages, format: schema })).message.content),
  'openai, response_format': async () => {
    const response_format = { type: 'json_schema', json_schema: { name: 'sum', strict: true, schema } }
    const { choices } = await openai.chat.completions.create({ model, messages, response_format })
    return formed(choices[0].message.content)
  },
  'openai, text.format': async () => {
    const text = { format: { type: 'json_schema', name: 'sum', strict: true, schema } }
    return formed((await openai.responses.create({ model, input: messages[0].content, text })).output_text)
  },
  'openai, tool_choice': async () => {
    const parameters = { type: 'object', properties: { a: schema }, required: ['a'], additionalProperties: false }
    const tools = [{ type: 'function', function: { name: 'add', strict: true, parameters } }]
    const asked = { model, messages, tools, tool_choice: 'required', parallel_tool_calls: false }
    const { choices } = await openai.chat.completions.create(asked)
    return formed(String(JSON.parse(choices[0].message.tool_calls[0].function.arguments).a))
  },
  'ollama, chat': async () =>
    (await ollama.chat({ model, messages, options: { num_predict: max_tokens } })).message.content,
  'ollama, generate, streamed': async () => {
    const asked = { model, prompt: messages[0].content, stream: true, options: { num_predict: max_tokens } }
    let text = ''
    for await (const { response } of await ollama.generate(asked)) text += response
    return text
  },
  'ollama, list and show': async () =>
    `${(await ollama.list()).models[0].name} ${(await ollama.show({ model })).capabilities}`,
  'openai, chat': async () =>
    (await openai.chat.completions.create({ model, messages, max_tokens })).choices[0].message.content,
  'openai, list of models, and the base by its name': async () => {
    const names = (await openai.models.list()).data.map(({ id }) => id)
    const base = names.find((name) => name.endsWith('@base')) ?? model
    const { choices } = await openai.chat.completions.create({ model: base, messages, max_tokens })
    return `${names}: ${choices[0].message.content}`
  },
  'openai, responses': async () =>
    (await openai.responses.create({ model, input: messages[0].content, max_output_tokens: max_tokens }))
      .output_text,
}

for (const [name, call] of Object.entries(CALLS)) {
  const told = await call().then(
    (text) => ({ works: true, text }),
    (error) => ({ works: false, text: String(error.message) }),
  )
  console.log(JSON.stringify({ name, ...told }))
}
