// Requests to the hub. The token is sent only to the hub, never to the host of a redirect. HTTPS is never downgraded,
// busy answers are retried, and the size of answers is limited.

import { WaggleError } from '../../../protocol/errors.ts'

interface HubFetchOptions {
  /** `https://huggingface.co`, or a mirror. */
  endpoint: string
  token?: string | undefined
  signal?: AbortSignal | undefined
  /** Most attempts per request. */
  attempts?: number
}

export interface HubFetchParts {
  fetch: typeof fetch
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

type HeaderList = ConstructorParameters<typeof Headers>[0]
export type HubFetch = (url: string | URL, init?: { headers?: HeaderList }) => Promise<Response>

const MAX_REDIRECTS = 5
const HEADER_MS = 30_000
/** A host that cannot be reached now will hardly be reachable in a minute. */
const CONNECT_ATTEMPTS = 3
const MAX_WAIT_MS = 60_000
const BUSY = new Set([408, 429, 500, 502, 503, 504])

/** A fetch that returns the last answer, whatever its status. Throws E_MODEL without one, or for an unsafe redirect. */
export function createHubFetch(
  { endpoint, token, signal, attempts = 5 }: HubFetchOptions,
  { fetch, sleep }: HubFetchParts,
): HubFetch {
  const hub = new URL(endpoint)

  async function once(url: URL, given: HeaderList | undefined): Promise<Response> {
    let at = url
    for (let hops = 0; hops <= MAX_REDIRECTS; hops++) {
      const headers = new Headers(given)
      headers.delete('authorization')
      headers.set('user-agent', 'waggle')
      if (token && at.origin === hub.origin) headers.set('authorization', `Bearer ${token}`)
      const slow = new AbortController()
      const timer = setTimeout(() => slow.abort(new Error(`no answer in ${HEADER_MS / 1000} s`)), HEADER_MS)
      const response = await fetch(at, {
        headers,
        redirect: 'manual',
        signal: signal ? AbortSignal.any([signal, slow.signal]) : slow.signal,
      }).finally(() => clearTimeout(timer))
      const location = response.headers.get('location')
      if (response.status < 300 || response.status > 399 || location === null) return response
      await response.body?.cancel()
      const next = new URL(location, at)
      if (next.protocol !== 'https:' && next.protocol !== at.protocol) {
        throw new WaggleError('E_MODEL', `${at.host} sends on to ${next.protocol}//${next.host}`, {
          hint: 'That would not be encrypted. Try again, or set HF_ENDPOINT to a mirror that you trust.',
        })
      }
      at = next
    }
    throw new WaggleError('E_MODEL', `${url.host} sends on more than ${MAX_REDIRECTS} times`, {
      hint: 'Try again later, or set HF_ENDPOINT to another mirror.',
    })
  }

  return async (address, init) => {
    const url = new URL(address)
    for (let attempt = 1; ; attempt++) {
      const last = attempt >= attempts
      try {
        const response = await once(url, init?.headers)
        if (last || !BUSY.has(response.status)) return response
        await response.body?.cancel()
        await sleep(waitMs(attempt, response.headers.get('retry-after')), signal)
      } catch (cause) {
        signal?.throwIfAborted()
        if (cause instanceof WaggleError) throw cause
        if (attempt >= Math.min(attempts, CONNECT_ATTEMPTS)) throw unreachable(url, cause)
        await sleep(waitMs(attempt, null), signal)
      }
    }
  }
}

/** A `fetch` for a library. It reads whole answers, up to a limit. */
export function boundedFetch(hubFetch: HubFetch, mostBytes: number): typeof fetch {
  return async (input, init) => {
    const response = await hubFetch(input instanceof Request ? input.url : input, {
      ...(init?.headers ? { headers: init.headers } : {}),
    })
    const parts: Uint8Array[] = []
    let bytes = 0
    for await (const part of response.body ?? []) {
      bytes += part.length
      if (bytes > mostBytes) {
        throw new WaggleError('E_MODEL', `the hub's answer has more than ${mostBytes} bytes`, {
          hint: 'The mirror that HF_ENDPOINT names may not speak the protocol of the hub.',
        })
      }
      parts.push(part)
    }
    const { status, headers } = response
    const body = [204, 205, 304].includes(status) ? null : Buffer.concat(parts)
    return new Response(body, { status, headers: withoutEncoding(headers) })
  }
}

/** Drops these headers, because the body has already been decoded. */
function withoutEncoding(headers: Headers): Headers {
  const kept = new Headers(headers)
  kept.delete('content-encoding')
  kept.delete('content-length')
  return kept
}

function waitMs(attempt: number, retryAfter: string | null): number {
  const asked = retryAfter !== null && /^\d{1,6}$/.test(retryAfter) ? Number(retryAfter) * 1000 : 0
  return Math.min(MAX_WAIT_MS, Math.max(asked, 1000 * 2 ** (attempt - 1)))
}

export function unreachable(url: URL, cause: unknown): WaggleError {
  const inner = (cause as { cause?: { code?: string; message?: string } })?.cause
  const reason = inner?.code ?? inner?.message ?? (cause as Error)?.message ?? String(cause)
  return new WaggleError('E_MODEL', `${url.host} cannot be reached: ${reason}`, {
    hint: 'Check the connection, or set HF_ENDPOINT to a mirror. The next attempt resumes the download.',
    cause,
  })
}
