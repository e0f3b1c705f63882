// Answers a call to the model: as JSON, or as events while the answer is written. A rollout's call is recorded first.

import { createHash } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { sendJson } from '../../http/index.ts'
import type { Attempt } from '../book/rollout.ts'
import type { Asker, Body, Dialect } from '../dialects/dialect.ts'
import type { CallRequest, Identity } from '../writing/attempts.ts'
import { sendEvents } from './stream.ts'

interface AnswerParts {
  bytes: Buffer
  body: Body
  path: string
  dialect: Dialect
  asker: Asker
  call(identity: Identity, make: () => CallRequest): Attempt
  after(ms: number, run: () => void): () => void
}

export async function answerCall(
  request: IncomingMessage,
  response: ServerResponse,
  { bytes, body, path, dialect, asker, call, after }: AnswerParts,
): Promise<void> {
  const prepared = dialect(body, asker)
  const attempt = call(identityOf(request, path, bytes), prepared.make)
  // If the connection closes before all of the answer is sent, the client did not get it.
  const waiting = attempt.delivery.wait()
  response.once('close', waiting.left)
  // Ollama's answers have no ids.
  response.setHeader('x-waggle-id', attempt.id)
  if (prepared.ignored.length > 0) response.setHeader('x-waggle-ignored', prepared.ignored.join(', '))
  if (prepared.stream) {
    const idle = prepared.idle?.(attempt)
    return await sendEvents(response, prepared.events(attempt), {
      ...{ path, isLines: prepared.isLines ?? false, idle, after },
      onSent: waiting.got,
    })
  }
  const done = await attempt.done
  response.once('finish', waiting.got)
  if (!response.destroyed) sendJson(response, 200, prepared.answer(done))
}

function identityOf({ headers }: IncomingMessage, path: string, bytes: Buffer): Identity {
  const key = headers['idempotency-key']
  return {
    digest: createHash('sha256').update(path).update('\0').update(bytes).digest('hex'),
    ...(typeof key === 'string' && key !== '' ? { idempotencyKey: key.slice(0, 256) } : {}),
    isRetry: Number(headers['x-stainless-retry-count'] ?? 0) > 0,
  }
}
