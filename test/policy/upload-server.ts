// A server on this machine that takes uploads as the hub does: repositories, preupload, Git LFS with its storage at
// another origin (in one piece or in parts), commits of NDJSON. A commit names only objects that have arrived.

import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface UploadHub {
  endpoint: string
  /** What each commit made of the repository. */
  commits: Array<{ summary: string; files: Record<string, Buffer> }>
  repositories: Map<string, { visibility: string }>
  /** Origin and method of each request, and whether it had the token. */
  requests: Array<{ at: 'hub' | 'storage'; what: string; authorized: boolean }>
  /** Status of every answer of the hub, if it refuses. */
  refuses?: number
  /** Large files come in parts of so many bytes. */
  partBytes?: number
  /** Address of the storage as it is told; default: its own. */
  storageOrigin?: string
  close(): Promise<void>
}

const TOKEN = 'Bearer hf_test'
const sha256 = (data: Buffer): string => createHash('sha256').update(data).digest('hex')

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part as Buffer)
  return Buffer.concat(parts)
}

const listen = (server: Server): Promise<string> =>
  new Promise((resolve) =>
    server.listen(0, '127.0.0.1', () =>
      resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
    ),
  )

export async function startUploadHub(): Promise<UploadHub> {
  const objects = new Map<string, Buffer>()
  const parts = new Map<string, Buffer[]>()
  let origin = ''

  /** Where to upload an object, as in the answer to an LFS batch. */
  const actions = ({ oid, size }: { oid: string; size: number }) => {
    if (objects.has(oid)) return {}
    const at = hub.storageOrigin ?? origin
    if (hub.partBytes === undefined) return { upload: { href: `${at}/${oid}` } }
    const count = Math.ceil(size / hub.partBytes)
    const numbered = Array.from({ length: count }, (_, i) => [
      `${i + 1}`.padStart(5, '0'),
      `${at}/${oid}/${i}`,
    ])
    return {
      upload: {
        href: `${hub.endpoint}/complete`,
        header: { chunk_size: String(hub.partBytes), ...Object.fromEntries(numbered) },
      },
    }
  }

  const answers: Array<[RegExp, (body: Buffer, name: string) => unknown]> = [
    [
      /^\/api\/repos\/create$/,
      (body) => {
        const { organization, name, visibility, type } = JSON.parse(String(body))
        if (type !== 'model') return 400
        if (hub.repositories.has(`${organization}/${name}`)) return 409
        hub.repositories.set(`${organization}/${name}`, { visibility })
        return { url: `${hub.endpoint}/${organization}/${name}`, id: '1' }
      },
    ],
    [
      /^\/api\/models\/(.+)\/preupload\/main$/,
      (body) => ({
        files: JSON.parse(String(body)).files.map(({ path }: { path: string }) => ({
          path,
          uploadMode: /\.(safetensors|gguf)$/.test(path) ? 'lfs' : 'regular',
        })),
      }),
    ],
    [
      /^\/(.+)\.git\/info\/lfs\/objects\/batch$/,
      (body) => {
        const { operation, transfers, objects: asked } = JSON.parse(String(body))
        if (operation !== 'upload' || transfers.includes('xet')) return 400
        return {
          transfer: hub.partBytes === undefined ? 'basic' : 'multipart',
          objects: asked.map((object: { oid: string; size: number }) => ({
            ...object,
            actions: actions(object),
          })),
        }
      },
    ],
    [
      /^\/complete$/,
      (body) => {
        const { oid, parts: named } = JSON.parse(String(body))
        const pieces = parts.get(oid) ?? []
        if (!named.every(({ etag }: { etag: string }, i: number) => etag === sha256(pieces[i]!))) return 400
        const whole = Buffer.concat(pieces)
        if (sha256(whole) !== oid) return 400
        objects.set(oid, whole)
        return {}
      },
    ],
    [
      /^\/api\/models\/(.+)\/commit\/main$/,
      (body) => {
        const lines = String(body)
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line))
        const files: Record<string, Buffer> = {}
        for (const { key, value } of lines) {
          if (key === 'file') files[value.path] = Buffer.from(value.content, value.encoding)
          if (key !== 'lfsFile') continue
          const data = objects.get(value.oid)
          if (data?.length !== value.size) return 400
          files[value.path] = data!
        }
        hub.commits.push({ summary: lines[0].value.summary, files })
        return { commitOid: 'c0ffee'.padEnd(40, '0'), commitUrl: 'x', success: true, hookOutput: '' }
      },
    ],
  ]
  const server = createServer(async (request, response) => {
    const path = decodeURIComponent(request.url!)
    const authorized = request.headers.authorization === TOKEN
    hub.requests.push({ at: 'hub', what: `${request.method} ${path}`, authorized })
    const body = await bodyOf(request)
    const found = answers.find(([pattern]) => pattern.test(path))
    const isOpen = path === '/complete'
    const answer = hub.refuses ?? (!authorized && !isOpen ? 401 : (found?.[1](body, path) ?? 404))
    response.writeHead(typeof answer === 'number' ? answer : 200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(typeof answer === 'number' ? { error: `refused with ${answer}` } : answer))
  })
  const storage = createServer(async (request, response) => {
    const authorized = request.headers.authorization !== undefined
    hub.requests.push({ at: 'storage', what: `${request.method} ${request.url}`, authorized })
    const body = await bodyOf(request)
    const [oid = '', part] = request.url!.slice(1).split('/')
    const isWhole = Number(request.headers['content-length']) === body.length
    if (part !== undefined) {
      const pieces = parts.get(oid) ?? []
      pieces[Number(part)] = body
      parts.set(oid, pieces)
    } else if (isWhole && sha256(body) === oid) objects.set(oid, body)
    response.writeHead(isWhole && (part !== undefined || objects.has(oid)) ? 200 : 400, {
      etag: sha256(body),
    })
    response.end()
  })
  origin = await listen(storage)
  const hub: UploadHub = {
    endpoint: await listen(server),
    commits: [],
    repositories: new Map(),
    requests: [],
    async close() {
      for (const each of [server, storage]) {
        each.closeAllConnections()
        await new Promise((done) => each.close(done))
      }
    },
  }
  return hub
}
