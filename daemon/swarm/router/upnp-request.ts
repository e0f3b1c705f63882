// One HTTP exchange with a home router, limited in time and size and without redirects, and a way to read fields of the
// XML answer. Fields are matched, not parsed: only a few are needed, and any machine on the network may have sent them.

import type { Clock } from '../types.ts'
import { within } from '../within.ts'

const MAX_BYTES = 256 << 10
const TIMEOUT_MS = 5000

export function request(
  url: URL,
  init: RequestInit,
  parts: { clock: Pick<Clock, 'after'>; signal: AbortSignal },
) {
  return within(TIMEOUT_MS, parts, async (signal) => {
    const response = await fetch(url, { ...init, redirect: 'error', signal })
    const chunks: Uint8Array[] = []
    let size = 0
    for await (const chunk of response.body ?? []) {
      size += chunk.length
      if (size > MAX_BYTES) throw new Error('the router’s answer is too long')
      chunks.push(chunk)
    }
    return { ok: response.ok, status: response.status, body: Buffer.concat(chunks).toString('utf8') }
  })
}

/** The text between the tags of this name, with or without a namespace prefix. */
export function field(xml: string, name: string): string | undefined {
  return new RegExp(`<(?:\\w{1,32}:)?${name}(?:\\s[^<>]{0,256})?>([^<]{0,512})</`).exec(xml)?.[1]?.trim()
}
