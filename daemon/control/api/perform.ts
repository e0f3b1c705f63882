// The POST commands: reads the request, calls NodeControl, and answers with JSON or, if the client accepts NDJSON, with
// progress lines followed by the result.

import type { IncomingMessage, ServerResponse } from 'node:http'
import {
  type CommandName,
  type Commands,
  MAX_REQUEST_BYTES,
  NDJSON,
  type StreamLine,
} from '../../../protocol/api/index.ts'
import { WaggleError } from '../../../protocol/errors.ts'
import { parseBody, readBody, sendJson } from '../../http/index.ts'
import type { CallOptions, NodeControl } from '../node/node.ts'
import { errorBody } from './errors.ts'
import { checkRequest } from './shapes.ts'

interface PerformParts {
  node: NodeControl
  /** Called for errors that are bugs. */
  onBug: (error: unknown, route: string) => void
}

export async function perform(
  command: CommandName,
  request: IncomingMessage,
  response: ServerResponse,
  { node, onBug }: PerformParts,
): Promise<void> {
  const bytes = await readBody(request, { maxBytes: MAX_REQUEST_BYTES })
  const body = checkRequest(command, parseBody(bytes))
  const gone = new AbortController()
  response.once('close', () => gone.abort())
  const streaming = request.headers.accept?.includes(NDJSON) === true
  const line = (data: StreamLine<unknown>) => {
    if (!response.writableEnded && !response.destroyed) response.write(`${JSON.stringify(data)}\n`)
  }
  if (streaming) {
    response.writeHead(200, { 'content-type': NDJSON, 'cache-control': 'no-store' }).flushHeaders()
  }
  const options: CallOptions = {
    signal: gone.signal,
    ...(streaming ? { onProgress: (progress) => line({ type: 'progress', ...progress }) } : {}),
  }
  try {
    const result = await call(node, command, body, options)
    if (!streaming) return sendJson(response, 200, result)
    line({ type: 'result', result })
  } catch (error) {
    if (!streaming) throw error
    if (!(error instanceof WaggleError)) onBug(error, command)
    line({ type: 'error', error: errorBody(error) })
  }
  response.end()
}

async function call(
  node: NodeControl,
  command: CommandName,
  body: Commands[CommandName][0],
  options: CallOptions,
): Promise<unknown> {
  switch (command) {
    case 'join':
      return await node.join(body as Commands['join'][0], options)
    case 'eval':
      return await node.evaluate(body as Commands['eval'][0], options)
    case 'audit':
      return await node.audit(body as Commands['audit'][0], options)
    case 'checkpoint':
      return await node.checkpoint(options)
    case 'reconfigure':
      return await node.reconfigure((body as Commands['reconfigure'][0]).settings ?? {})
    case 'conversations':
      return await node.conversations(body as Commands['conversations'][0])
    case 'mute': {
      const { peer, on } = body as Commands['mute'][0]
      const id = await node.mute(peer, on)
      return done(`${on ? 'muted' : 'unmuted'}${id === peer ? '' : ` (${id})`}`)
    }
    case 'invite':
      return { invite: await node.invite() }
    case 'share':
      return await node.share(body as Commands['share'][0])
    case 'fetch':
      return await node.fetch(body as Commands['fetch'][0], options)
    case 'leave':
      await node.leave(options)
      return done('left the swarm; training continues alone')
    case 'pause':
      await node.pause()
      return done('paused')
    case 'resume':
      await node.resume()
      return done('resumed')
    case 'stop': {
      // Without the signal, so that the stop continues if the client disconnects.
      const { onProgress } = options
      await node.stop(body as Commands['stop'][0], onProgress ? { onProgress } : {})
      return done('stopped')
    }
  }
}

const done = (message: string) => ({ done: true as const, message })
