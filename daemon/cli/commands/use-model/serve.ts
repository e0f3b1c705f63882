// waggle serve: answers programs with a model, over HTTP, until it is stopped. Works without a daemon. Nothing is trained,
// except with --tinker, as the programs say.

import { servingText } from '../../../../protocol/api/index.ts'
import type { Config } from '../../../config/schema.ts'
import type { Context } from '../../contract.ts'
import { contextConfig } from '../../load-config.ts'
import { loadAsked } from '../../model/checkpoint.ts'
import { openModel } from '../../model/open.ts'
import { serveModel } from '../../model/serve-model.ts'
import { serveTinker } from '../../model/serve-tinker.ts'

/** How often a line tells what was answered, if anything was. */
const TELL_MS = 10_000

export async function run(given: Context): Promise<number> {
  const [named] = given.arguments
  const context = named === undefined ? given : { ...given, options: { ...given.options, model: named } }
  const { io, json, out, say, paths } = context
  const { config } = contextConfig(context)
  if (context.options.tinker) return await runTinker(context, config)
  const { model, name } = await loadAsked(context)
  const { tokenizer, spec } = model
  const opened = await openModel(context, config, model, {
    tokenBytes: tokenizer.tokenBytes(spec.vocabulary),
  })
  const stop = new AbortController()
  const off = io.onSignal(() => stop.abort())
  try {
    const serving = await serveModel(opened, {
      ...{ config, paths, name: context.options.model === undefined ? model.directory : name },
      log: (_, message) => say(message),
    })
    const { model: id, maxTokens } = serving.info()
    if (json) out(JSON.stringify({ v: 1, url: serving.url, model: id, key_file: paths.serveKey, maxTokens }))
    say(`${name}, as "${id}", conversations of up to ${maxTokens} tokens`)
    say(`  at   ${serving.url}/v1 (OpenAI), ${serving.url} (Anthropic, Ollama)`)
    say(`  key  in ${paths.serveKey}`)
    say(`  try  ${trial(serving.url!, paths.serveKey, tokenizer.hasChatTemplate)}`)
    say('Ctrl-C ends it.')
    let told = 0
    const telling = setInterval(() => {
      const info = serving.info()
      const seen = info.answered + info.abandoned + info.refused
      if (seen > told || info.running > 0) say(servingText(info))
      told = seen
    }, TELL_MS)
    await aborted(stop.signal)
    clearInterval(telling)
    await serving.close()
    return 0
  } finally {
    off()
    await opened.close()
  }
}

/** A command for a shell that asks the model; one that cannot chat continues a text. */
function trial(url: string, keyFile: string, chats: boolean): string {
  const body = JSON.stringify(
    chats ? { messages: [{ role: 'user', content: 'Hello' }] } : { prompt: 'Hello' },
  )
  return `curl ${url}/v1/${chats ? 'chat/' : ''}completions -H "authorization: Bearer $(cat '${keyFile}')" -d '${body}'`
}

async function runTinker(context: Context, config: Config): Promise<number> {
  const { io, json, out, say, paths } = context
  const stop = new AbortController()
  const off = io.onSignal(() => stop.abort())
  try {
    const { url, names, prefix, close } = await serveTinker(context, config)
    if (json) out(JSON.stringify({ v: 1, url, models: names, key_file: paths.serveKey }))
    say(`Tinker's API, for programs on this machine`)
    say(`  TINKER_BASE_URL=${url}`)
    say(`  TINKER_API_KEY=${prefix}$(cat ${paths.serveKey})`)
    say(`  base_model is ${names.map((name) => `"${name}"`).join(' or ')}`)
    say('Ctrl-C ends it.')
    await aborted(stop.signal)
    await close()
    return 0
  } finally {
    off()
  }
}

async function aborted(signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    if (signal.aborted) resolve()
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
