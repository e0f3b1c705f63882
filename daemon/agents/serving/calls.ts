// Answers a call to the model: as JSON, or as events while the answer is written. The call is recorded first.

import { createHash } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { sendJson } from '../../http/index.ts'
import type { AgentRollout } from '../book/rollout.ts'
import type { Dialect } from '../dialects/dialect.ts'
import type { Caller, Identity } from '../writing/caller.ts'
import { readObject } from './http.ts'
import { sendEvents } from './stream.ts'

interface AnswerParts {
  rollout: AgentRollout
  path: string
  dialect: Dialect
  caller: Caller
  after(ms: number, run: () => void): () => void
}

export async function answerCall(
  request: IncomingMessage,
  response: ServerResponse,
  { rollout, path, dialect, caller, after }: AnswerParts,
): Promise<void> {
  const { bytes, body } = await readObject(request)
  const prepared = dialect(body, rollout)
  const attempt = caller.call(rollout, identityOf(request, path, bytes), prepared.make)
  // If the connection closes before all of the answer is sent, the client did not get it.
  const waiting = attempt.delivery.wait()
  response.once('close', waiting.left)
  if (prepared.ignored.length > 0) response.setHeader('x-waggle-ignored', prepared.ignored.join(', '))
  if (prepared.stream) {
    const idle = prepared.idle?.(attempt)
    return await sendEvents(response, prepared.events(attempt), { idle, after, onSent: waiting.got })
  }
  const call = await attempt.done
  response.once('finish', waiting.got)
  if (!response.destroyed) sendJson(response, 200, prepared.answer(call))
}

function identityOf({ headers }: IncomingMessage, path: string, bytes: Buffer): Identity {
  const key = headers['idempotency-key']
  return {
    digest: createHash('sha256').update(path).update('\0').update(bytes).digest('hex'),
    ...(typeof key === 'string' && key !== '' ? { idempotencyKey: key.slice(0, 256) } : {}),
    isRetry: Number(headers['x-stainless-retry-count'] ?? 0) > 0,
  }
}
