// A server that speaks the hub's protocol on this machine: model info, tree, resolve with a redirect to another origin,
// ranges, entity tags; and misbehaves as it is told to.

import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export const COMMIT = 'c0ffee'.padEnd(40, '0')

export interface Fault {
  /** Cuts the body of this file after so many bytes, this many times. */
  cut?: { file: string; after: number; times: number }
  /** Answers all requests of this path part so, this many times. */
  busy?: { part: string; status: number; times: number; retryAfter?: string }
  /** Bytes that are not what the hub listed. */
  wrong?: string
  /** Ranges are not known. */
  noRanges?: boolean
  /** Sends more than was promised. */
  long?: string
  token?: string
}

export interface Hub {
  endpoint: string
  requests: { path: string; range?: string; authorized: boolean; host: 'hub' | 'storage' }[]
  fault: Fault
  files: Map<string, Buffer>
  close(): Promise<void>
}

const listen = (server: Server): Promise<number> =>
  new Promise((resolve) =>
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port)),
  )

/** With `card`, the repository is a dataset's, and this is its card's metadata. */
export async function startHub(
  files: Record<string, string | Uint8Array>,
  { name = 'org/tiny', card }: { name?: string; card?: object } = {},
): Promise<Hub> {
  const [kind, folder] = card ? ['datasets', `/datasets/${name}`] : ['models', `/${name}`]
  const contents = new Map(Object.entries(files).map(([path, data]) => [path, Buffer.from(data as string)]))
  const fault: Fault = {}
  const requests: Hub['requests'] = []
  let origin = ''

  const send = (response: ServerResponse, status: number, body: unknown, headers = {}) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(JSON.stringify(body))
  }
  const note = (request: IncomingMessage, host: 'hub' | 'storage') => {
    const { range, authorization } = request.headers
    requests.push({
      path: decodeURIComponent(request.url!.split('?')[0]!),
      ...(range ? { range } : {}),
      authorized: authorization !== undefined,
      host,
    })
  }
  const isBusy = (path: string): boolean =>
    Boolean(fault.busy && path.includes(fault.busy.part) && fault.busy.times-- > 0)

  // Large files lie elsewhere, as behind the hub's own redirects.
  const storage = createServer((request, response) => {
    note(request, 'storage')
    serve(request, response, request.url!.slice(1))
  })
  const serve = (request: IncomingMessage, response: ServerResponse, file: string) => {
    let body = contents.get(file)!
    if (fault.wrong === file) body = Buffer.from(body.map((byte, i) => (i === 20 ? byte ^ 1 : byte)))
    if (fault.long === file) body = Buffer.concat([body, Buffer.from('more')])
    const range = /^bytes=(\d+)-/.exec(request.headers.range ?? '')
    const start = range && !fault.noRanges ? Number(range[1]) : 0
    const part = body.subarray(start)
    response.writeHead(range && !fault.noRanges ? 206 : 200, {
      etag: `"${createHash('sha256').update(body).digest('hex')}"`,
      'content-length': part.length,
      ...(range && !fault.noRanges
        ? { 'content-range': `bytes ${start}-${body.length - 1}/${body.length}` }
        : {}),
    })
    if (fault.cut?.file === file && fault.cut.times-- > 0) {
      // A half-close after the bytes, not a reset, which might overtake them.
      response.write(part.subarray(0, fault.cut.after), () => response.socket?.end())
      return
    }
    response.end(part)
  }
  const hub = createServer((request, response) => {
    note(request, 'hub')
    const path = decodeURIComponent(request.url!.split('?')[0]!)
    if (isBusy(path)) {
      const { status, retryAfter } = fault.busy!
      send(response, status, { error: 'busy' }, retryAfter ? { 'retry-after': retryAfter } : {})
    } else if (fault.token && request.headers.authorization !== `Bearer ${fault.token}`) {
      send(response, 401, { error: 'Invalid credentials' })
    } else if (
      path === `/api/${kind}/${name}/revision/main` ||
      path === `/api/${kind}/${name}/revision/${COMMIT}`
    ) {
      send(response, 200, {
        _id: '1',
        id: name,
        sha: COMMIT,
        lastModified: '2026-01-01T00:00:00Z',
        cardData: card,
      })
    } else if (path === `/api/${kind}/${name}/tree/${COMMIT}`) {
      const all = [...contents].map(([file, data]) => entry(file, data))
      // Two pages, so that following them is tested.
      const second = request.url!.includes('cursor=2')
      const half = Math.ceil(all.length / 2)
      send(response, 200, second ? all.slice(half) : all.slice(0, half), {
        ...(second ? {} : { link: `<${hubUrl()}${request.url}&cursor=2>; rel="next"` }),
      })
    } else if (path.startsWith(`${folder}/resolve/${COMMIT}/`)) {
      const file = path.slice(`${folder}/resolve/${COMMIT}/`.length)
      if (!contents.has(file)) return send(response, 404, { error: 'Entry not found' })
      if (!isLarge(file)) return serve(request, response, file)
      const digest = createHash('sha256').update(contents.get(file)!).digest('hex')
      response.writeHead(302, { location: `${origin}/${file}`, 'x-linked-etag': `"${digest}"` }).end()
    } else send(response, 404, { error: 'Repository not found' })
  })
  origin = `http://127.0.0.1:${await listen(storage)}`
  const port = await listen(hub)
  const hubUrl = () => `http://127.0.0.1:${port}`
  return {
    endpoint: hubUrl(),
    requests,
    fault,
    files: contents,
    async close() {
      for (const server of [hub, storage]) {
        server.closeAllConnections()
        await new Promise((done) => server.close(done))
      }
    },
  }
}

const isLarge = (path: string): boolean => /\.(safetensors|parquet)$/.test(path)

function entry(path: string, data: Buffer) {
  const git = createHash('sha1').update(`blob ${data.length}\0`).update(data).digest('hex')
  const lfs = isLarge(path)
    ? { oid: createHash('sha256').update(data).digest('hex'), size: data.length, pointerSize: 130 }
    : undefined
  return { type: 'file', path, size: data.length, oid: git, ...(lfs ? { lfs } : {}) }
}
