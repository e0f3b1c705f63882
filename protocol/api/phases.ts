// What a node, or a command, is doing right now: named phases that run side by side, each with how far it is. The loops
// report to `run`; the state word, snapshots, commands and the terminal UI read `list`.

import { bytes, count, duration, si } from './format.ts'
import type { Progress } from './requests.ts'
import type { StateWord } from './snapshot.ts'

interface Kind {
  /** In words, as in "training 43 %". */
  doing: string
  /** The node's state while this is what it does. */
  state: StateWord
  /**
   * The share from which on the remaining time is told: there, the pieces left take about as long as those done. Not set
   * if nobody can tell, as for answers, whose lengths are unknown.
   */
  tellsFrom?: number
}

/** In order of importance: if several run, the first gives the node its state. */
export const PHASES = {
  download: { doing: 'downloading', state: 'STARTING', tellsFrom: 0.02 },
  load: { doing: 'loading the model', state: 'STARTING', tellsFrom: 0.05 },
  start: { doing: 'starting the engines', state: 'STARTING' },
  restore: { doing: 'going back to a checkpoint', state: 'TRAINING' },
  train: { doing: 'training', state: 'TRAINING', tellsFrom: 0.05 },
  score: { doing: 'scoring', state: 'TRAINING', tellsFrom: 0.05 },
  // The first answers to end are the shortest.
  evaluate: { doing: 'evaluating', state: 'EVALUATING', tellsFrom: 0.3 },
  save: { doing: 'saving', state: 'SAVING', tellsFrom: 0.05 },
  write: { doing: 'writing answers', state: 'GENERATING' },
  verify: { doing: 'verifying', state: 'GENERATING', tellsFrom: 0.1 },
  meet: { doing: 'testing newcomers', state: 'GENERATING' },
  // Evaluates within it, if a peer is far ahead.
  join: { doing: "joining peers' weights", state: 'TRAINING' },
  export: { doing: 'exporting', state: 'TRAINING', tellsFrom: 0.05 },
  read: { doing: 'reading the prompt', state: 'GENERATING' },
  close: { doing: 'closing', state: 'STOPPING' },
} as const satisfies Record<string, Kind>

export type PhaseName = keyof typeof PHASES
export const PHASE_UNITS = ['answers', 'bytes', 'groups', 'tokens'] as const
export type PhaseUnit = (typeof PHASE_UNITS)[number]

/** A running phase. What is unknown is absent. */
export interface PhaseInfo {
  name: PhaseName
  /** Since it began. */
  seconds: number
  /** Of `total`, in `unit`. */
  done?: number
  total?: number
  unit?: PhaseUnit
  /** 0 to 1. */
  fraction?: number
  /** Units per second since it began. */
  perSecond?: number
  secondsLeft?: number
}

/** Reports how far a phase is. A total replaces the one that it began with. */
export type At = (done: number, total?: number) => void

export interface Size {
  unit?: PhaseUnit
  total?: number
}

export interface Phases {
  /** Runs `work` as a phase, until it settles. */
  run<T>(name: PhaseName, size: Size, work: (at: At) => T | Promise<T>): Promise<T>
  /** Phases that have run for at least `seconds`, most important first. */
  list(seconds?: number): PhaseInfo[]
  /** The most important phase that runs or has ended just now. Undefined if none has. */
  foremost(): PhaseName | undefined
}

/** For callers that show nothing. */
export const NO_PHASES: Pick<Phases, 'run'> = { run: async (_name, _size, work) => work(() => {}) }

/** Shorter phases are not shown. */
export const SHOWN_SECONDS = 2
/** A phase counts as what the node does until this long after its end: small models change phases many times a second. */
const LINGERS_MS = 2000

const ORDER = Object.keys(PHASES) as PhaseName[]

interface Running {
  name: PhaseName
  since: number
  done?: number
  size: Size
}

/** `now` is a clock in ms that never goes back. */
export function createPhases({ now }: { now(): number }): Phases {
  const running = new Set<Running>()
  const ended = new Map<PhaseName, number>()
  return {
    async run(name, size, work) {
      const phase: Running = { name, since: now(), size }
      running.add(phase)
      try {
        return await work((done, total) => {
          phase.done = done
          if (total !== undefined) phase.size = { ...phase.size, total }
        })
      } finally {
        running.delete(phase)
        // What came before the loops is over when they begin.
        if (PHASES[name].state !== 'STARTING') ended.set(name, now())
      }
    },
    list: (seconds = SHOWN_SECONDS) =>
      [...running]
        .map((phase) => infoOf(phase, now()))
        .filter((phase) => phase.seconds >= seconds)
        .sort((a, b) => ORDER.indexOf(a.name) - ORDER.indexOf(b.name)),
    foremost() {
      const names = new Set([...running].map(({ name }) => name))
      const time = now()
      return ORDER.find((name) => names.has(name) || time - (ended.get(name) ?? -Infinity) < LINGERS_MS)
    },
  }
}

function infoOf({ name, since, done, size: { unit, total } }: Running, now: number): PhaseInfo {
  const seconds = Math.max(0, now - since) / 1000
  const fraction = done !== undefined && total ? Math.min(1, done / total) : undefined
  const { tellsFrom }: Kind = PHASES[name]
  const isTold = fraction !== undefined && tellsFrom !== undefined && fraction >= tellsFrom
  return {
    name,
    seconds,
    ...(done === undefined ? {} : { done }),
    ...(total === undefined ? {} : { total }),
    ...(unit === undefined ? {} : { unit }),
    ...(fraction === undefined ? {} : { fraction }),
    ...(done && seconds >= 1 ? { perSecond: done / seconds } : {}),
    ...(isTold && seconds >= SHOWN_SECONDS ? { secondsLeft: (seconds * (1 - fraction)) / fraction } : {}),
  }
}

/** A line of progress. */
export function progressOf(phase: PhaseInfo): Progress {
  const { fraction } = phase
  return { message: doingText(phase), ...(fraction === undefined ? {} : { fraction }), phase }
}

/** For example `training 43 %, 5,366 of 12,480 tokens, 61 tokens/s, 1 min left`. */
export function doingText(phase: PhaseInfo): string {
  // A newer node may have phases that this program does not know.
  const doing = (PHASES as Record<string, Kind>)[phase.name]?.doing ?? phase.name
  return `${doing} ${phaseFacts(phase)}`
}

/** The same without the name. */
export function phaseFacts({
  seconds,
  done,
  total,
  unit,
  fraction,
  perSecond,
  secondsLeft,
}: PhaseInfo): string {
  const amount = (value: number): string => (unit === 'bytes' ? bytes(value) : count(value))
  if (fraction === undefined) return `for ${duration(seconds * 1000)}`
  const named = unit === undefined || unit === 'bytes' ? '' : ` ${unit}`
  const speed = perSecond === undefined ? undefined : unit === 'bytes' ? bytes(perSecond) : si(perSecond)
  return [
    `${Math.floor(100 * fraction)} %`,
    `${amount(Math.min(done!, total!))} of ${amount(total!)}${named}`,
    speed && `${speed}${named}/s`,
    secondsLeft !== undefined && `${duration(1000 * secondsLeft)} left`,
  ]
    .filter(Boolean)
    .join(', ')
}

/** For example `3 of 8 groups with a signal for the first step`. */
export function nextText({ waiting, due }: { waiting: number; due: number }, step: number): string {
  return `${Math.min(waiting, due)} of ${due} groups with a signal for ${step === 0 ? 'the first step' : `step ${step + 1}`}`
}
