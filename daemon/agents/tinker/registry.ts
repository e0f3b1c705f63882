// The sessions of clients, and what each has: models that it trains, and samplers.

import { HttpError } from '../../http/index.ts'
import { busy, invalid } from '../errors.ts'
import type { Snapshot, Trainee } from './trainee.ts'

export interface TrainedModel {
  id: string
  session: string
  /** The name by which the client asked for its base. */
  base: string
  ready: Promise<Trainee>
  metadata: unknown
  lastAsked: number
}

export interface SamplerOf {
  id: string
  session: string
  base: string
  /** Where its weights are saved; undefined for the base, and for weights that were not saved under a name. */
  path: string | undefined
  ready: Promise<{ trainee: Trainee; snapshot: Snapshot }>
  /** Clients that ask it, in several processes. */
  clients: number
}

interface Session {
  lastSeen: number
  displayName: string | undefined
  metadata: unknown
}

export interface Registry {
  /** Ends sessions that were not heard of for a minute. */
  sweep(): void
  openSession(about: Omit<Session, 'lastSeen'>): string
  /** Throws HttpError for a session that is not there. */
  session(id: string): Session
  sessions(): string[]
  endSession(id: string): void
  /** Throws HttpError if there is no room for one more model. */
  addModel(model: Omit<TrainedModel, 'lastAsked' | 'ready'>, open: () => Promise<Trainee>): TrainedModel
  model(id: string): TrainedModel
  models(): TrainedModel[]
  addSampler(sampler: Omit<SamplerOf, 'clients'>): SamplerOf
  sampler(id: string): SamplerOf
  samplers(): SamplerOf[]
  close(): Promise<void>
}

/** Clients are heard of every 10 s. */
const SILENCE_MS = 60_000
/** A sampler holds weights, so those that were asked last longest ago are let go. */
const [MAX_SESSIONS, MAX_MODELS, MAX_SAMPLERS] = [64, 8, 32]

export function createRegistry({ now, id }: { now(): number; id(): string }): Registry {
  const sessions = new Map<string, Session>()
  const models = new Map<string, TrainedModel>()
  const samplers = new Map<string, SamplerOf>()
  const closing = new Set<Promise<void>>()

  const drop = (model: TrainedModel): void => {
    models.delete(model.id)
    const done = model.ready
      .then((trainee) => trainee.close())
      .catch(() => {})
      .finally(() => closing.delete(done))
    closing.add(done)
  }
  const endSession = (session: string): void => {
    sessions.delete(session)
    for (const model of models.values()) if (model.session === session) drop(model)
    for (const sampler of samplers.values()) if (sampler.session === session) samplers.delete(sampler.id)
  }
  const sweep = (): void => {
    for (const [session, { lastSeen }] of sessions) if (now() - lastSeen > SILENCE_MS) endSession(session)
  }
  const known = <Thing>(all: ReadonlyMap<string, Thing>, what: string, one: string): Thing => {
    const found = all.get(one)
    if (found) return found
    throw new HttpError(404, `unknown_${what}`, `there is no ${what} ${one.slice(0, 200)}`, {
      hint: 'It may be that its session ended, or that the server was started anew.',
    })
  }

  return {
    sweep,
    openSession(about) {
      if (sessions.size >= MAX_SESSIONS) throw busy(`${sessions.size} sessions are open`, 30)
      const session = id()
      sessions.set(session, { ...about, lastSeen: now() })
      return session
    },
    session(one) {
      const session = known(sessions, 'session', one)
      session.lastSeen = now()
      return session
    },
    sessions: () => [...sessions.keys()],
    endSession,
    addModel(given, open) {
      if (models.has(given.id)) return models.get(given.id)!
      if (models.size >= MAX_MODELS) {
        if ([...models.values()].every(({ session }) => session === given.session))
          throw invalid(
            `this session has ${models.size} models open`,
            'A session that is closed frees its own.',
          )
        throw busy(`${models.size} models are open; those of a program end a minute after it`, 10)
      }
      const model = { ...given, ready: open(), lastAsked: now() }
      models.set(model.id, model)
      model.ready.catch(() => models.delete(model.id))
      return model
    },
    model(one) {
      const model = known(models, 'model', one)
      model.lastAsked = now()
      return model
    },
    models: () => [...models.values()],
    addSampler(given) {
      if (samplers.has(given.id)) return samplers.get(given.id)!
      const sampler = { ...given, clients: 1 }
      if (samplers.size >= MAX_SAMPLERS) samplers.delete(samplers.keys().next().value!)
      samplers.set(sampler.id, sampler)
      // Whoever samples from it learns of the failure.
      sampler.ready.catch(() => {})
      return sampler
    },
    sampler(one) {
      const sampler = known(samplers, 'sampler', one)
      samplers.delete(one)
      samplers.set(one, sampler)
      return sampler
    },
    samplers: () => [...samplers.values()],
    async close() {
      for (const session of sessions.keys()) endSession(session)
      await Promise.all(closing)
    },
  }
}
