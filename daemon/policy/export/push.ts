// Puts an exported model on the hub, as one commit: a repository if there is none, then the large files by Git LFS, then
// the commit, which makes all of it visible at once. The protocol is that of @huggingface/hub. The token is sent only to
// the hub: its storage gives addresses that are signed.

import { stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { CommitOperation, HubApiError } from '@huggingface/hub'
import { WaggleError } from '../../../protocol/errors.ts'
import { safeText } from '../../../protocol/text.ts'
import { checkedEndpoint } from '../sources/repository.ts'

interface PushOptions {
  /** `org/name`. */
  name: string
  /** Paths of the files, which lie side by side in the repository. */
  files: readonly string[]
  /** Text of the README.md, if it is not among the files. */
  card?: string | undefined
  /** Title of the commit. */
  title: string
  /** Whether a new repository can be seen by everybody. */
  isPublic: boolean
  endpoint?: string | undefined
  token: string
  /** Bytes sent so far, of the large files. */
  onBytes?: ((done: number) => void) | undefined
}

/** Rejects with E_MODEL. What was uploaded before an error need not be uploaded again. */
export async function pushModel(
  { name, files, card, title, isPublic, endpoint, token, onBytes }: PushOptions,
  { fetch }: { fetch: typeof globalThis.fetch },
): Promise<{ url: string; commit: string }> {
  const hubUrl = checkedEndpoint(endpoint)
  const { commit, createRepo } = await import('@huggingface/hub')
  const repo = { type: 'model' as const, name }
  const asked = { hubUrl, accessToken: token, fetch: uploadFetch(hubUrl, fetch, onBytes) }
  const operations: CommitOperation[] = files.map((path) => ({
    operation: 'addOrUpdate',
    path: basename(path),
    content: pathToFileURL(path),
  }))
  if (card !== undefined)
    operations.push({ operation: 'addOrUpdate', path: 'README.md', content: new Blob([card]) })
  try {
    await createRepo({ repo, visibility: isPublic ? 'public' : 'private', ...asked }).catch((error) => {
      // It is there already.
      if ((error as Partial<HubApiError>).statusCode !== 409) throw error
    })
    const made = await commit({ repo, title, operations, useXet: false, ...asked })
    return { url: `${hubUrl}/${name}`, commit: made!.commit.oid }
  } catch (cause) {
    if (cause instanceof WaggleError) throw cause
    throw pushError(name, hubUrl, cause)
  }
}

/** Bytes of the files. */
export async function bytesOfFiles(files: readonly string[]): Promise<number> {
  const sizes = await Promise.all(files.map(async (path) => (await stat(path)).size))
  return sizes.reduce((sum, size) => sum + size, 0)
}

/** Never sends anything in the clear that the hub's own address would not, and counts what is sent to its storage. */
function uploadFetch(
  hubUrl: string,
  fetch: typeof globalThis.fetch,
  onBytes: ((done: number) => void) | undefined,
): typeof globalThis.fetch {
  const hub = new URL(hubUrl)
  let sent = 0
  return async (input, init) => {
    const url = new URL(input instanceof Request ? input.url : input)
    if (url.protocol !== 'https:' && url.protocol !== hub.protocol) {
      throw new WaggleError('E_MODEL', `${hub.host} wants the files at ${url.protocol}//${url.host}`, {
        hint: 'That would not be encrypted. Try again, or set HF_ENDPOINT to a mirror that you trust.',
      })
    }
    const headers = new Headers(init?.headers)
    headers.set('user-agent', 'waggle')
    if (url.origin !== hub.origin) headers.delete('authorization')
    const body =
      init?.method === 'PUT' && init.body instanceof Blob
        ? new CountedBlob(init.body, (bytes) => {
            sent += bytes
            onBytes?.(sent)
          })
        : init?.body
    return fetch(url, { ...init, headers, redirect: 'error', ...(body == null ? {} : { body }) })
  }
}

/** Tells how much of it was read, which is what was sent, but for what the system buffers. */
class CountedBlob extends Blob {
  override readonly size: number
  readonly #whole: Blob
  readonly #onBytes: (bytes: number) => void

  constructor(whole: Blob, onBytes: (bytes: number) => void) {
    super([])
    this.size = whole.size
    this.#whole = whole
    this.#onBytes = onBytes
  }

  override stream(): ReturnType<Blob['stream']> {
    const count = this.#onBytes
    const counting = new TransformStream<Uint8Array, Uint8Array>({
      transform(piece, controller) {
        count(piece.length)
        controller.enqueue(piece)
      },
    })
    return this.#whole.stream().pipeThrough(counting) as ReturnType<Blob['stream']>
  }
}

function pushError(name: string, endpoint: string, cause: unknown): WaggleError {
  const { host } = new URL(endpoint)
  const { statusCode } = cause as Partial<HubApiError>
  const inner = (cause as { cause?: { code?: string } })?.cause?.code
  const reason = safeText(inner ?? (cause instanceof Error ? cause.message : String(cause)), {
    limit: 160,
    line: true,
  })
  if (statusCode === 401 || statusCode === 403) {
    return new WaggleError('E_MODEL', `${host} does not let this token write to ${name}: ${reason}`, {
      hint: 'Check the name. The token needs the right to write, and you need to be in the organization.',
      cause,
    })
  }
  return new WaggleError('E_MODEL', `${name} was not pushed to ${host}: ${reason}`, {
    hint: 'Nothing of it is visible there. Try again: large files that arrived are not sent twice.',
    cause,
  })
}
