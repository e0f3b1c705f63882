// The interface of a client that watches or controls a node, over the unix socket, TCP or ssh. daemon/control/api
// implements it. Calls reject with a WaggleError: E_NOT_RUNNING if nothing answers, otherwise the node's error.

import type { Event } from './events.ts'
import type { Groups, GroupsQuery } from './groups.ts'
import type { Progress } from './phases.ts'
import type { CommandName, Commands, Health, Series } from './requests.ts'
import type { Snapshot } from './snapshot/index.ts'

export interface ControlClient {
  health(options?: { signal?: AbortSignal }): Promise<Health>
  snapshot(options?: { signal?: AbortSignal }): Promise<Snapshot>
  /** The newest groups with their texts; empty if the node keeps none. */
  groups(query?: GroupsQuery, options?: { signal?: AbortSignal }): Promise<Groups>
  series(query: SeriesQuery, options?: { signal?: AbortSignal }): Promise<Series>
  /** Ends when the connection does; to resume, pass the last received ID as `since`. */
  events(options?: {
    /** Starts after this event. Default: only new events. */
    since?: number
    /** Also send snapshots at this interval; minimum 250. */
    snapshotEveryMs?: number
    signal?: AbortSignal
  }): AsyncIterable<Event>
  send<Name extends CommandName>(
    name: Name,
    request: Commands[Name][0],
    options?: { signal?: AbortSignal; onProgress?: (progress: Progress) => void },
  ): Promise<Commands[Name][1]>
}

export interface SeriesQuery {
  name: string
  /** ms since the epoch. */
  from?: number
  to?: number
  points?: number
}
