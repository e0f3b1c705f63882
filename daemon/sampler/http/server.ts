// Exchanges JSON with an inference server. The size of answers is limited, and errors say what to look at.

import { WaggleError } from '../../../protocol/errors.ts'
import { safeText } from '../../../protocol/text.ts'

export interface ServerOptions {
  /** For example http://127.0.0.1:8000. A path in it is kept. */
  url: string
  /** Sent as a bearer token. */
  key: string | undefined
}

export interface ServerParts {
  fetch: typeof globalThis.fetch
  sleep(ms: number, signal: AbortSignal): Promise<void>
}

export interface Call {
  path: string
  /** Sent as JSON with POST; without it, the request is a GET. */
  body?: object
  signal?: AbortSignal
  timeoutMs?: number
}

export interface Server {
  /** The parsed answer. If the server is busy or just starting, the request is repeated for some seconds. */
  call(request: Call): Promise<unknown>
}

/** A token with its log-prob takes about 100 bytes, and a completion has at most 32,768 tokens. */
const MAX_BYTES = 16 * 1024 * 1024
/** Undici gives up on requests without an answer after 300 s in any case. */
const TIMEOUT_MS = 300_000
const PAUSES_MS = [500, 1000, 2000]

export function createServer({ url, key }: ServerOptions, { fetch, sleep }: ServerParts): Server {
  const base = url.replace(/\/+$/, '')
  const once = async ({ path, body, signal, timeoutMs = TIMEOUT_MS }: Call): Promise<unknown> => {
    const deadline = AbortSignal.timeout(timeoutMs)
    const answer = await fetch(`${base}${path}`, {
      method: body ? 'POST' : 'GET',
      headers: {
        ...(body ? { 'content-type': 'application/json' } : {}),
        ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      },
      ...(body ? { body: JSON.stringify(body) } : {}),
      // A redirect would send the key to another host.
      redirect: 'error',
      signal: signal ? AbortSignal.any([signal, deadline]) : deadline,
    })
    const text = await readText(answer)
    if (!answer.ok) throw refusal(base, path, answer.status, text)
    try {
      return JSON.parse(text) as unknown
    } catch {
      // vLLM answers some calls with a plain sentence.
      return text
    }
  }
  return {
    async call(request) {
      for (let attempt = 0; ; attempt++) {
        try {
          return await once(request)
        } catch (cause) {
          if (request.signal?.aborted) throw cause
          const pause = PAUSES_MS[attempt]
          if (pause === undefined || !isPassing(cause)) throw explained(base, request, cause)
          await sleep(pause, request.signal ?? new AbortController().signal)
        }
      }
    },
  }
}

async function readText(answer: Response): Promise<string> {
  const pieces: Uint8Array[] = []
  let bytes = 0
  for await (const piece of answer.body ?? []) {
    bytes += piece.length
    if (bytes > MAX_BYTES) {
      await answer.body?.cancel().catch(() => {})
      throw new WaggleError('E_SAMPLER', `the external sampler's answer has more than ${MAX_BYTES} bytes`, {
        hint: 'Is sampler.url the address of an inference server?',
      })
    }
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString('utf8')
}

/** True for errors that may pass: the server is busy, starting, or away for a moment. */
function isPassing(cause: unknown): boolean {
  if (!(cause instanceof WaggleError)) return !isTimeout(cause)
  return [429, 502, 503, 504].includes(cause.data?.status as number)
}

const isTimeout = (cause: unknown): boolean => (cause as Error | null)?.name === 'TimeoutError'

function refusal(base: string, path: string, status: number, text: string): WaggleError {
  const said = safeText(text, { limit: 300, line: true })
  return new WaggleError('E_SAMPLER', `${base}${path} answered with status ${status}: ${said}`, {
    hint:
      status === 401 || status === 403
        ? 'The server wants a key: set the environment variable that sampler.key_variable names.'
        : status === 404
          ? 'Check sampler.url and sampler.kind, and that the server was started as docs/samplers.md says.'
          : "Look at the server's own log.",
    data: { status },
  })
}

function explained(base: string, { path, timeoutMs = TIMEOUT_MS }: Call, cause: unknown): WaggleError {
  if (cause instanceof WaggleError) return cause
  if (isTimeout(cause)) {
    return new WaggleError('E_SAMPLER', `${base}${path} gave no answer within ${timeoutMs / 1000} s`, {
      hint: 'The server is too slow for this many sequences: lower sampler.parallel or model.max_completion_tokens.',
      cause,
    })
  }
  const inner = (cause as { cause?: { code?: unknown; message?: unknown } }).cause
  const reason = safeText(String(inner?.code ?? inner?.message ?? (cause as Error).message), {
    limit: 160,
    line: true,
  })
  return new WaggleError('E_SAMPLER', `the external sampler at ${base} cannot be reached: ${reason}`, {
    hint: 'Is the server running, and is sampler.url right? A running node waits for it.',
    cause,
  })
}
