// The control API's client over a Unix socket or TCP, for commands and the terminal UI. It has few imports, so that
// `waggle status` starts quickly.

import { type IncomingMessage, type RequestOptions, request } from 'node:http'
import {
  type CommandName,
  type Commands,
  type ControlClient,
  type ErrorBody,
  type Event,
  type Groups,
  type Health,
  NDJSON,
  type Progress,
  type Series,
  type Snapshot,
  type StreamLine,
} from '../../../protocol/api/index.ts'
import { ERROR_CODES, WaggleError } from '../../../protocol/errors.ts'

/** Address of a node's control API. */
export type Endpoint = { socket: string } | { host: string; port: number; token: string | undefined }

type ClientOptions = Endpoint & {
  /** A node that has not begun to answer within this time counts as hung. */
  timeoutMs?: number
}

interface CallOptions {
  method?: 'GET' | 'POST'
  body?: unknown
  accept?: string
  signal?: AbortSignal | undefined
  /** 0 turns the timeout off. */
  timeoutMs?: number
}

/** On a machine that is busy with other work, a node in background priority was seen to take over five seconds. */
const PATIENCE_MS = 20_000

export function createClient({ timeoutMs = PATIENCE_MS, ...endpoint }: ClientOptions): ControlClient {
  const open = (path: string, options: CallOptions = {}) =>
    openRequest(endpoint, path, { timeoutMs, ...options })
  const get = async <T>(path: string, signal?: AbortSignal): Promise<T> =>
    JSON.parse(await text(await open(path, { signal }))) as T

  return {
    health: ({ signal } = {}) => get<Health>('/v1/health', signal),
    snapshot: ({ signal } = {}) => get<Snapshot>('/v1/snapshot', signal),
    series: (query, { signal } = {}) => get<Series>(`/v1/series?${search({ ...query })}`, signal),
    groups: (query = {}, { signal } = {}) => get<Groups>(`/v1/groups?${search({ ...query })}`, signal),
    async *events({ since, snapshotEveryMs, signal } = {}) {
      const query = search({ since, snapshots: snapshotEveryMs })
      const response = await open(`/v1/events?${query}`, { signal, accept: 'text/event-stream' })
      for await (const line of lines(response)) {
        if (line.startsWith('data: ')) yield JSON.parse(line.slice(6)) as Event
      }
    },
    async send(name, body, { signal, onProgress } = {}) {
      const response = await open(`/v1/${name}`, {
        method: 'POST',
        body,
        accept: NDJSON,
        signal,
        timeoutMs: 0,
      })
      return await streamed(name, response, onProgress)
    },
  }
}

function search(values: Record<string, string | number | undefined>): URLSearchParams {
  const given = Object.entries(values).filter(([, value]) => value !== undefined)
  return new URLSearchParams(given.map(([key, value]): [string, string] => [key, String(value)]))
}

async function streamed<Name extends CommandName>(
  name: Name,
  response: IncomingMessage,
  onProgress: ((progress: Progress) => void) | undefined,
): Promise<Commands[Name][1]> {
  for await (const text of lines(response)) {
    const line = JSON.parse(text) as StreamLine<Commands[Name][1]>
    if (line.type === 'progress') onProgress?.(line)
    else if (line.type === 'result') return line.result
    else throw fromBody(line.error)
  }
  throw new WaggleError('E_CONTROL', `the daemon closed the connection before it answered "${name}"`, {
    hint: 'Check `waggle status` and the log.',
  })
}

function openRequest(endpoint: Endpoint, path: string, options: CallOptions): Promise<IncomingMessage> {
  const { method = 'GET', body, accept = 'application/json', signal, timeoutMs } = options
  return new Promise((resolve, reject) => {
    const payload = body === undefined ? undefined : JSON.stringify(body)
    const settings: RequestOptions = {
      ...('socket' in endpoint
        ? { socketPath: endpoint.socket }
        : { host: endpoint.host, port: endpoint.port }),
      path,
      method,
      headers: {
        accept,
        ...('token' in endpoint && endpoint.token ? { authorization: `Bearer ${endpoint.token}` } : {}),
        ...(payload
          ? { 'content-type': 'application/json', 'content-length': Buffer.byteLength(payload) }
          : {}),
      },
    }
    if (signal) settings.signal = signal
    const call = request(settings)
    const timer = timeoutMs
      ? setTimeout(
          () => call.destroy(Object.assign(new Error('no answer'), { code: 'ETIMEDOUT' })),
          timeoutMs,
        )
      : undefined
    call.once('error', (error) => {
      clearTimeout(timer)
      reject(signal?.aborted ? signal.reason : unreachable(endpoint, error))
    })
    call.once('response', (response) => {
      clearTimeout(timer)
      if (response.statusCode === 200) return resolve(response)
      text(response).then((answer) => reject(refusal(answer)), reject)
    })
    call.end(payload)
  })
}

function unreachable(endpoint: Endpoint, cause: NodeJS.ErrnoException): WaggleError {
  const where = 'socket' in endpoint ? endpoint.socket : `${endpoint.host}:${endpoint.port}`
  switch (cause.code) {
    case 'ENOENT':
    case 'ECONNREFUSED':
      return new WaggleError('E_NOT_RUNNING', `no daemon is running (nothing answers on ${where})`, {
        hint:
          'socket' in endpoint
            ? 'Start one with `waggle up`; it answers some seconds later. If it uses another --home, give the same --home here.'
            : 'The other node has ended, or does not listen there: `waggle config show` on its machine tells its control.listen.',
        cause,
      })
    case 'EACCES':
    case 'EPERM':
      return new WaggleError('E_CONTROL', `the control socket ${where} belongs to another user`, {
        hint: 'Run this command as the user who started the daemon.',
        cause,
      })
    case 'ETIMEDOUT':
      return new WaggleError('E_CONTROL', 'the daemon does not answer', {
        hint: 'It may be starting or busy: try again in a moment. If it does not recover, check its log, end its process and start it again.',
        cause,
      })
    default:
      return new WaggleError('E_CONTROL', `the connection to the daemon failed: ${cause.message}`, {
        hint: 'Check `waggle status` and the log.',
        cause,
      })
  }
}

function refusal(answer: string): WaggleError {
  try {
    return fromBody(JSON.parse(answer) as ErrorBody)
  } catch {
    return new WaggleError('E_CONTROL', `the daemon gave an invalid answer: ${answer.slice(0, 200)}`, {
      hint: 'The daemon and the command may have different versions: restart the daemon.',
    })
  }
}

function fromBody({ code, message, hint }: ErrorBody): WaggleError {
  const known = typeof code === 'string' && Object.hasOwn(ERROR_CODES, code) ? code : 'E_CONTROL'
  return new WaggleError(known, message, hint === undefined ? {} : { hint })
}

async function text(response: IncomingMessage): Promise<string> {
  let all = ''
  for await (const chunk of chunks(response)) all += chunk
  return all
}

async function* lines(response: IncomingMessage): AsyncGenerator<string> {
  let rest = ''
  for await (const chunk of chunks(response)) {
    const parts = (rest + chunk).split('\n')
    rest = parts.pop()!
    for (const part of parts) if (part !== '') yield part
  }
}

async function* chunks(response: IncomingMessage): AsyncGenerator<string> {
  response.setEncoding('utf8')
  try {
    yield* response as AsyncIterable<string>
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ECONNRESET') throw cause
    throw new WaggleError('E_CONTROL', 'the daemon closed the connection in the middle of its answer', {
      hint: 'Check `waggle status` and the log.',
      cause,
    })
  }
}
