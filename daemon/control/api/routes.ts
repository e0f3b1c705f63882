// The GET routes, one function each. They do not change the node.

import type { IncomingMessage, ServerResponse } from 'node:http'
import {
  API_VERSION,
  type Groups,
  type Health,
  MAX_GROUPS,
  type SeriesQuery,
  type Snapshot,
} from '../../../protocol/api/index.ts'
import { HttpError, sendJson } from '../../http/index.ts'
import type { SeriesRecorder } from '../journal/series.ts'
import type { NodeControl } from '../node/node.ts'
import { streamEvents } from './event-stream.ts'
import { controlApi } from './openapi.ts'
import { PROMETHEUS_TYPE, prometheusText } from './prometheus.ts'

/** At most four snapshots per second and reader. */
const SNAPSHOT_MIN_INTERVAL_MS = 250

export type Route = (url: URL, request: IncomingMessage, response: ServerResponse) => void | Promise<void>

interface RoutesParts {
  node: NodeControl
  snapshot: () => Snapshot
  series: SeriesRecorder
  clock: () => number
  /** Aborted when the server closes. */
  closing: AbortSignal
}

interface RoutesOptions {
  run: string
  stallMs: number
}

export function createRoutes(
  { run, stallMs }: RoutesOptions,
  { node, snapshot, series, clock, closing }: RoutesParts,
): Record<string, Route> {
  return {
    '/v1/health': (_url, _request, response) => {
      const { state, node: who } = snapshot()
      const { name, peerId, pid, version } = who
      const health: Health = {
        v: API_VERSION,
        state,
        run,
        name,
        peerId,
        pid,
        version,
        lastEvent: node.events.last,
      }
      sendJson(response, 200, health)
    },

    '/v1/snapshot': (_url, _request, response) => sendJson(response, 200, snapshot()),

    '/v1/series': (url, _request, response) => {
      const name = url.searchParams.get('name')
      if (!name)
        throw new HttpError(400, 'invalid_request', 'name is missing', {
          hint: 'For example /v1/series?name=reward.',
        })
      const query: SeriesQuery = { name }
      for (const key of ['from', 'to', 'points'] as const) {
        const value = numberIn(url, key)
        if (value !== undefined) query[key] = value
      }
      sendJson(response, 200, series.query(query))
    },

    '/v1/groups': (url, _request, response) => {
      const limit = Math.min(MAX_GROUPS, Math.max(1, Math.floor(numberIn(url, 'limit') ?? 16)))
      const origin = url.searchParams.get('origin')
      if (origin !== null && origin !== 'own' && origin !== 'foreign') {
        throw new HttpError(400, 'invalid_request', 'origin must be own or foreign')
      }
      const groups = node.groups?.({ limit, ...(origin ? { origin } : {}) }) ?? []
      const answer: Groups = { v: API_VERSION, groups: groups.slice(0, limit) }
      sendJson(response, 200, answer)
    },

    '/v1/events': async (url, request, response) => {
      const since = numberIn(url, 'since') ?? Number(request.headers['last-event-id'] ?? node.events.last)
      if (!Number.isSafeInteger(since) || since < 0) {
        throw new HttpError(400, 'invalid_request', 'since must be the ID of an event')
      }
      const every = numberIn(url, 'snapshots') ?? 0
      response.writeHead(200, {
        'content-type': 'text/event-stream',
        'cache-control': 'no-store',
        'x-waggle-run': run,
      })
      response.flushHeaders()
      await streamEvents(
        response,
        { since, stallMs, snapshotEveryMs: every > 0 ? Math.max(SNAPSHOT_MIN_INTERVAL_MS, every) : 0 },
        { events: node.events, snapshot, clock, signal: closing },
      )
    },

    '/v1/openapi.json': (_url, _request, response) =>
      sendJson(response, 200, controlApi(snapshot().node.version)),

    '/metrics': (_url, _request, response) => {
      response.writeHead(200, { 'content-type': PROMETHEUS_TYPE })
      response.end(prometheusText(snapshot()))
    },
  }
}

function numberIn(url: URL, name: string): number | undefined {
  const text = url.searchParams.get(name)
  if (text === null) return undefined
  const value = Number(text)
  if (text.trim() === '' || !Number.isFinite(value))
    throw new HttpError(400, 'invalid_request', `${name} must be a number`)
  return value
}
