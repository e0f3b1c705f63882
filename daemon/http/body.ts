// Request bodies: limited in size, before and after decompression, and JSON of limited depth.

import type { IncomingMessage } from 'node:http'
import { promisify } from 'node:util'
import { brotliDecompress, gunzip, inflate, zstdDecompress } from 'node:zlib'
import { HttpError } from './error.ts'

/** By the names in Content-Encoding. */
const DECOMPRESS = {
  gzip: promisify(gunzip),
  'x-gzip': promisify(gunzip),
  deflate: promisify(inflate),
  br: promisify(brotliDecompress),
  zstd: promisify(zstdDecompress),
}
/** Most levels of nested brackets. Deeper values would exhaust the stack of code that walks through them. */
const MAX_DEPTH = 64

/** The body as it was before it was compressed, if it was. Throws HttpError. */
export async function readBody(
  request: IncomingMessage,
  { maxBytes }: { maxBytes: number },
): Promise<Buffer> {
  const decompress = decoderOf(request.headers['content-encoding'] ?? 'identity')
  const bytes = await sentBytes(request, { maxBytes })
  if (!decompress) return bytes
  try {
    return await decompress(bytes, { maxOutputLength: maxBytes })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge(maxBytes)
    throw invalid('the body of the request is not compressed as its content-encoding says')
  }
}

/** A client that goes away before it has sent all is no bug of the server's. */
async function sentBytes(request: IncomingMessage, { maxBytes }: { maxBytes: number }): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      size += chunk.length
      if (size > maxBytes) throw tooLarge(maxBytes)
      chunks.push(chunk)
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ECONNRESET') throw error
    throw new HttpError(499, 'abandoned', 'the client left before it had sent its request')
  }
  return Buffer.concat(chunks)
}

type Decompress = (bytes: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>

function decoderOf(encoding: string): Decompress | undefined {
  const name = encoding.trim().toLowerCase()
  if (name === 'identity' || name === '') return undefined
  if (Object.hasOwn(DECOMPRESS, name)) return DECOMPRESS[name as keyof typeof DECOMPRESS]
  throw new HttpError(
    415,
    'unsupported_encoding',
    `the content-encoding "${name.slice(0, 64)}" is not supported`,
    {
      hint: `Use ${Object.keys(DECOMPRESS).join(', ')}, or send the body as it is.`,
    },
  )
}

/** The value of a JSON body; an empty body is an empty object. Throws HttpError. */
export function parseBody(bytes: Buffer, parse: (text: string) => unknown = JSON.parse): unknown {
  if (bytes.length === 0) return {}
  if (depthOf(bytes) > MAX_DEPTH) throw invalid(`the body is nested more than ${MAX_DEPTH} levels deep`)
  try {
    // Some clients begin with a byte-order mark.
    return parse(bytes.toString('utf8').replace(/^\ufeff/, ''))
  } catch {
    throw invalid('the body of the request is not JSON')
  }
}

/** Depth of nested brackets outside strings. Exact for valid JSON. */
function depthOf(json: Buffer): number {
  const [quote, backslash] = [0x22, 0x5c]
  let [depth, most, isText] = [0, 0, false]
  for (let i = 0; i < json.length; i++) {
    const byte = json[i]!
    if (isText) {
      if (byte === backslash) i += 1
      else if (byte === quote) isText = false
    } else if (byte === quote) isText = true
    // [ and {, then ] and }.
    else if (byte === 0x5b || byte === 0x7b) most = Math.max(most, ++depth)
    else if (byte === 0x5d || byte === 0x7d) depth -= 1
  }
  return most
}

function tooLarge(maxBytes: number): HttpError {
  return new HttpError(413, 'request_too_large', `the body of a request may have at most ${maxBytes} bytes`)
}

function invalid(message: string): HttpError {
  return new HttpError(400, 'invalid_request', message)
}
