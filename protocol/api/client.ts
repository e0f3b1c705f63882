// What a program that watches or steers a node needs, whatever carries it: the unix socket, ssh, or a replayed file.
// An interface only; daemon/control has the one over a socket. Everything rejects with a WaggleError: E_NOT_RUNNING
// where nobody answers, otherwise what the node said.

import type { Event } from './events.ts'
import type { Groups, GroupsQuery } from './groups.ts'
import type { CommandName, Commands, Health, Progress, Series } from './requests.ts'
import type { Snapshot } from './snapshot.ts'

export interface ControlClient {
  health(options?: { signal?: AbortSignal }): Promise<Health>
  snapshot(options?: { signal?: AbortSignal }): Promise<Snapshot>
  /** The newest groups with their texts; empty where the node keeps none. */
  groups(query?: GroupsQuery, options?: { signal?: AbortSignal }): Promise<Groups>
  series(query: SeriesQuery, options?: { signal?: AbortSignal }): Promise<Series>
  /** Ends when the connection does; the caller starts again with the last id that it saw. */
  events(options?: {
    /** The last event that was seen; left out: only what comes from now on. */
    since?: number
    /** Ask for snapshots on the stream, this far apart; the node allows no less than 250. */
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
