// A client for OpenEnv servers: GET /schema says what an action is, and each WebSocket `/ws` is a session with its own
// environment.

import type { ChatMessage } from '../../../policy/chat/template.ts'
import { type AskParts, ask } from '../ask.ts'
import { EnvironmentError, type ServedEnvironment, type Session, type Shown } from '../environment.ts'
import { actionMaker, shownText } from './actions.ts'
import { type ActionSchema, type Reply, replyIn, schemaReply } from './messages.ts'

export interface OpenEnvOptions {
  name: string
  /** http or https. */
  url: string
  prompt?: string | undefined
  /** The field of an action that gets the answer. */
  action?: string | undefined
  /** The field of an observation that is shown to the policy. */
  observation?: string | undefined
  turns: number
  sessions: number
  /** Longest wait for a reply. */
  stepSeconds: number
}

interface OpenEnvParts extends AskParts {
  connect(url: string): WebSocket
}

const MAX_SCHEMA = 256 * 1024

/** Gets the schema and plays one reset, so that problems with the server are found at the start. */
export async function openOpenEnv(options: OpenEnvOptions, parts: OpenEnvParts): Promise<ServedEnvironment> {
  const { name, prompt, turns, sessions } = options
  const toAction = actionMaker(await schemaOf(options, parts), { name, field: options.action })
  const open = () => openSession(options, parts, toAction)
  const first = await open()
  try {
    await first.reset(0)
  } catch (error) {
    // A server with only one session may be in use; it is tried again while the node runs.
    if (!(error instanceof EnvironmentError && error.isFull)) throw error
  } finally {
    first.close()
  }
  return { name, prompt, turns, sessions, open }
}

async function schemaOf({ name, url }: OpenEnvOptions, parts: OpenEnvParts): Promise<ActionSchema> {
  const { address, status, json } = await ask(
    { name, url, path: '/schema', seconds: 10, most: MAX_SCHEMA },
    parts,
  )
  const parsed = schemaReply.safeParse(json())
  if (status === 200 && parsed.success) return parsed.data.action
  throw new EnvironmentError(
    `environment ${name}: ${address} is not an OpenEnv server: its answer (${status}) has no schema of actions`,
  )
}

async function openSession(
  { name, url, observation, stepSeconds }: OpenEnvOptions,
  parts: OpenEnvParts,
  toAction: (answer: string) => object,
): Promise<Session> {
  const socket = parts.connect(`${url.replace(/^http/, 'ws').replace(/\/+$/, '')}/ws`)
  let broken: EnvironmentError | undefined
  let waiting: { resolve(reply: Reply): void; reject(error: EnvironmentError): void } | undefined
  const breakOff = (message: string, more: { isFull?: boolean } = {}): void => {
    broken ??= new EnvironmentError(`environment ${name}: ${message}`, more)
    waiting?.reject(broken)
    waiting = undefined
    socket.close()
  }
  const { promise: isOpen, resolve: opened } = Promise.withResolvers<void>()
  socket.addEventListener('open', () => opened())
  socket.addEventListener('error', () => breakOff(`no connection to ${url}`))
  socket.addEventListener('close', () => breakOff('its server closed the connection'))
  socket.addEventListener('message', ({ data }) => {
    const reply = typeof data === 'string' ? replyIn(data) : undefined
    if (!reply) return breakOff('its server sent what is no reply of OpenEnv')
    if (reply.type === 'error' && reply.data.code === 'CAPACITY_REACHED')
      return breakOff('its server has no free session', { isFull: true })
    const asked = waiting
    if (!asked) return breakOff('its server sent a reply to nothing')
    waiting = undefined
    asked.resolve(reply)
  })

  const exchange = async (message: object): Promise<Reply> => {
    if (broken) throw broken
    const { promise, resolve, reject } = Promise.withResolvers<Reply>()
    waiting = { resolve, reject }
    const cancel = parts.after(stepSeconds * 1000, () => breakOff(`no reply within ${stepSeconds} s`))
    // If the session is broken off, the reply is rejected, too.
    isOpen.then(() => {
      if (!broken) socket.send(JSON.stringify(message))
    })
    try {
      return await promise
    } finally {
      cancel()
    }
  }
  const shown = (reply: Reply): Shown => {
    if (reply.type === 'error') {
      const { code, message } = reply.data
      throw new EnvironmentError(
        `environment ${name}: ${code} ${message.slice(0, 200).replaceAll(/\p{Cc}+/gu, ' ')}`,
      )
    }
    const { observation: seen, reward, done } = reply.data
    return { messages: said(shownText(seen, observation)), reward, done }
  }
  return {
    async reset(seed) {
      const { messages, done } = shown(await exchange({ type: 'reset', data: { seed } }))
      if (done) throw new EnvironmentError(`environment ${name}: an episode ends before the first answer`)
      return { messages, tools: [] }
    },
    async step({ content }) {
      const reply = await exchange({ type: 'step', data: toAction(content) })
      // An answer that is not a valid action is the policy's mistake: it earns nothing, and the episode continues.
      if (reply.type === 'error' && reply.data.code === 'VALIDATION_ERROR')
        return { messages: said('This is not a valid action.'), reward: 0, done: false }
      return shown(reply)
    },
    end: async () => 0,
    close: () => breakOff('closed by this node'),
  }
}

const said = (content: string): ChatMessage[] => [{ role: 'user', content }]
