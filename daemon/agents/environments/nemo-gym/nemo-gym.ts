// A client for NeMo Gym's resources servers (nemo-gym 0.4, base_resources_server.py). It does what the framework's
// simple agent does: /seed_session begins an episode, each tool call is a request to the path with the tool's name, and
// /verify judges the row together with everything that was said and called. A cookie identifies the session.

import { z } from 'zod'
import { parseExactly } from '../../../../protocol/json.ts'
import type { ChatMessage } from '../../../policy/chat/template.ts'
import { callItem, messageItem, textPart } from '../../dialects/output.ts'
import { NO_TOOLS } from '../../dialects/request/offered.ts'
import type { Answer, ToolCall } from '../../dialects/tools.ts'
import { type AskParts, ask, type Replied } from '../ask.ts'
import {
  EnvironmentError,
  LARGEST_REWARD,
  MAX_SHOWN,
  type ServedEnvironment,
  type Session,
} from '../environment.ts'
import { keepCookies } from './cookies.ts'
import type { Row } from './rows.ts'

export interface NemoGymOptions {
  name: string
  /** URL of the resources server. */
  url: string
  /** From `rowsIn`; at least one. */
  rows: readonly Row[]
  prompt?: string | undefined
  turns: number
  sessions: number
  /** Longest wait for a reply. */
  stepSeconds: number
}

interface NemoGymParts extends AskParts {
  /** ms since the epoch. */
  now(): number
}

/** Most characters of a reply. The reply of /verify repeats the row and the answers. */
const MAX_REPLY = 4 * 1024 * 1024

const verified = z.object({ reward: z.number().min(-LARGEST_REWARD).max(LARGEST_REWARD) })

/** Begins an episode once, so that problems with the server are found at the start. */
export async function openNemoGym(options: NemoGymOptions, parts: NemoGymParts): Promise<ServedEnvironment> {
  const { name, prompt, turns, sessions } = options
  const open = async (): Promise<Session> => openSession(options, parts)
  const first = await open()
  await first.reset(0)
  first.close()
  return { name, prompt, turns, sessions, open }
}

function openSession({ name, url, rows, stepSeconds }: NemoGymOptions, parts: NemoGymParts): Session {
  const closing = new AbortController()
  let row = rows[0]!
  let cookies = keepCookies()
  /** What was said and called so far, as items of the responses API. */
  let items: object[] = []
  let answers = 0

  const post = async (path: string, body: object): Promise<Replied> => {
    const { signal } = closing
    const headers = cookies.header()
    const replied = await ask(
      { ...{ name, url, path, body, headers, signal }, seconds: stepSeconds, most: MAX_REPLY },
      parts,
    )
    cookies.take(replied.headers)
    return replied
  }
  const refuse = ({ address, status, text }: Replied, path: string): never => {
    const isElsewhere = status === 404 || status === 405
    const why = isElsewhere ? `it has no ${path}, so it is no resources server of NeMo Gym` : oneLine(text)
    throw new EnvironmentError(`environment ${name}: ${address} answers ${status}: ${why}`)
  }

  /** A tool's reply, as the model sees it. An error counts as a reply. */
  const call = async ({ name: tool, arguments: text }: ToolCall): Promise<string> => {
    let body: unknown
    try {
      body = parseExactly(text)
    } catch {
      return JSON.stringify({ error: 'the arguments are no JSON' })
    }
    const { text: output } = await post(`/${encodeURIComponent(tool)}`, Object(body))
    return output.slice(0, MAX_SHOWN).toWellFormed()
  }

  const verify = async (): Promise<number> => {
    const response = {
      ...{
        id: `resp_${name}`,
        object: 'response',
        created_at: Math.floor(parts.now() / 1000),
        model: 'waggle',
      },
      ...{ status: 'completed', error: null, incomplete_details: null, output: items },
      ...{ parallel_tool_calls: true, tool_choice: 'auto', tools: [] },
    }
    const replied = await post('/verify', { ...row.whole, response })
    if (replied.status !== 200) refuse(replied, '/verify')
    const { data } = verified.safeParse(replied.json())
    if (data) return data.reward
    throw new EnvironmentError(
      `environment ${name}: ${replied.address} answers without a reward from -${LARGEST_REWARD} to ${LARGEST_REWARD}`,
    )
  }

  const keep = ({ content, calls }: Answer): void => {
    const id = `${answers++}`
    if (content !== '' || calls.length === 0) items.push(messageItem(id, 'completed', [textPart(content)]))
    items.push(...calls.map((one, i) => callItem(id, one, i, NO_TOOLS)))
  }

  return {
    async reset(seed) {
      row = rows[seed % rows.length]!
      cookies = keepCookies()
      items = []
      const replied = await post('/seed_session', row.whole)
      if (replied.status !== 200) refuse(replied, '/seed_session')
      return row
    },
    async step(answer) {
      keep(answer)
      if (answer.calls.length === 0) return { messages: [], reward: await verify(), done: true }
      const messages: ChatMessage[] = []
      for (const one of answer.calls) {
        const output = await call(one)
        items.push({ type: 'function_call_output', call_id: one.id, output })
        messages.push({ role: 'tool', content: output, tool_call_id: one.id })
      }
      return { messages, reward: 0, done: false }
    },
    end: verify,
    close: () => closing.abort(new Error('closed by this node')),
  }
}

const oneLine = (text: string): string => text.slice(0, 200).replaceAll(/\p{Cc}+/gu, ' ')
