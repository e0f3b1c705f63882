// waggle chat: a conversation with a model, in a terminal or through a pipe. Works without a daemon.

import { createInterface } from 'node:readline'
import { WaggleError } from '../../../../protocol/errors.ts'
import type { Context } from '../../contract.ts'
import { contextConfig } from '../../load-config.ts'
import { answer, answerLine, type ChatMessage } from '../../model/answer.ts'
import { loadAsked } from '../../model/checkpoint.ts'
import { openModel } from '../../model/open.ts'
import { piecesFor, samplingOf } from '../../model/sampling-options.ts'

export async function run(context: Context): Promise<number> {
  const { options, io, json, out, say } = context
  const { config } = contextConfig(context)
  const { model, name } = await loadAsked(context, ({ tokenizer }) => {
    if (tokenizer.hasChatTemplate) return
    throw new WaggleError('E_MODEL', 'the model has no chat template', {
      hint: 'It can only continue text: use `waggle generate`.',
    })
  })
  const sampling = samplingOf(context, model, { isChat: true })
  const opened = await openModel(context, config, model, piecesFor(sampling, model))
  const terminal = !json && io.stdin.isTTY === true && io.stdout.isTTY === true
  say(`${name}, temperature ${sampling.temperature}, seed ${sampling.seed}`)
  if (terminal) say('Ctrl-C stops an answer, /new starts a new conversation, /quit or Ctrl-D exits.')

  const system = options.system as string | undefined
  const opening: ChatMessage[] = system === undefined ? [] : [{ role: 'system', content: system }]
  let messages = [...opening]
  let drawn = 0
  let before: Int32Array = new Int32Array()
  const lines = createInterface({
    input: io.stdin,
    prompt: '> ',
    ...(terminal ? { output: process.stdout } : {}),
  })
  // At the prompt, Ctrl-C exits; during an answer, it stops the answer.
  let answering = false
  lines.on('SIGINT', () => (answering ? process.emit('SIGINT') : lines.close()))
  const ask = () => void (terminal && lines.prompt())
  try {
    ask()
    for await (const line of lines) {
      if (line.trim() === '/new') {
        messages = [...opening]
      } else if (/^\/[a-z]*$/.test(line.trim())) {
        if (line.trim() === '/quit' || line.trim() === '/exit') break
        say(
          '/new starts a new conversation, /quit or Ctrl-D exits, Ctrl-C stops an answer. Other text goes to the model.',
        )
      } else if (line.trim() !== '') {
        const next: ChatMessage[] = [...messages, { role: 'user', content: line }]
        const prompt = fitting(next, opening.length, opened.model, say)
        if (prompt) {
          answering = true
          const read = sharedLength(before, prompt.prompt)
          const done = await answer(
            { ...prompt, sampling, drawn, read },
            opened,
            context,
            (part) => json || io.stdout.write(part),
          )
          const { text, sample } = done
          answering = false
          out(json ? answerLine(done, sampling) : '')
          // Stopped before its first token, it was never asked.
          if (sample.tokens.length > 0) {
            before = prompt.prompt
            drawn += sample.tokens.length
            messages = [...prompt.messages, { role: 'assistant', content: text }]
          }
        }
      }
      ask()
    }
    return 0
  } finally {
    lines.close()
    await opened.close()
  }
}

function sharedLength(a: Int32Array, b: Int32Array): number {
  const end = a.findIndex((token, i) => token !== b[i])
  return end < 0 ? a.length : end
}

/** The conversation as tokens. If it does not fit into the context, the oldest turns are dropped. */
function fitting(
  messages: ChatMessage[],
  opening: number,
  {
    tokenizer,
    spec,
  }: {
    tokenizer: { encodeChat: (m: ChatMessage[], o: { prompt: boolean }) => Int32Array }
    spec: { contextLength: number }
  },
  say: (text: string) => void,
): { prompt: Int32Array; messages: ChatMessage[] } | undefined {
  for (let kept = messages; ; kept = [...kept.slice(0, opening), ...kept.slice(opening + 2)]) {
    const prompt = tokenizer.encodeChat(kept, { prompt: true })
    // Leaves room for an answer.
    if (prompt.length <= spec.contextLength * 0.75) {
      if (kept.length < messages.length) say('(the context is full: the oldest turns were dropped)')
      return { prompt, messages: kept }
    }
    if (kept.length <= opening + 1) {
      say(`the message has ${prompt.length} tokens, but the context of the model only ${spec.contextLength}`)
      return undefined
    }
  }
}
