// Sends one request to an environment's server. Time and size are limited, and redirects are not followed.

import { EnvironmentError } from './environment.ts'

export interface AskParts {
  fetch: typeof fetch
  after(ms: number, run: () => void): () => void
}

export interface Asked {
  /** The environment's name. */
  name: string
  /** The server's URL. */
  url: string
  path: string
  /** Sent as JSON with POST; undefined for GET. */
  body?: object
  headers?: Record<string, string>
  /** Longest wait for the reply. */
  seconds: number
  /** Most characters of the reply. */
  most: number
  signal?: AbortSignal
}

export interface Replied {
  address: string
  status: number
  headers: Headers
  text: string
  /** The parsed text; undefined if it is not JSON. */
  json(): unknown
}

/** Throws EnvironmentError if no reply comes. A reply with an error status is returned like any other. */
export async function ask(
  { name, url, path, body, headers, seconds, most, signal }: Asked,
  parts: AskParts,
): Promise<Replied> {
  const address = url.replace(/\/+$/, '') + path
  const late = new AbortController()
  const cancel = parts.after(seconds * 1000, () => late.abort(new Error(`no reply within ${seconds} s`)))
  try {
    const response = await parts.fetch(address, {
      signal: signal ? AbortSignal.any([signal, late.signal]) : late.signal,
      redirect: 'error',
      headers: { ...headers, ...(body ? { 'content-type': 'application/json' } : {}) },
      ...(body ? { method: 'POST', body: JSON.stringify(body) } : {}),
    })
    let text = ''
    for await (const piece of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += piece
      if (text.length > most) throw new Error(`its reply is longer than ${most} characters`)
    }
    return { address, status: response.status, headers: response.headers, text, json: () => jsonIn(text) }
  } catch (cause) {
    throw new EnvironmentError(`environment ${name}: cannot use ${address}: ${reasonOf(cause)}`, { cause })
  } finally {
    cancel()
  }
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function reasonOf(error: unknown): string {
  const { message, cause } = error as Error
  return cause instanceof Error && cause.message ? cause.message : message
}
