// What a node, or a command, is doing right now: named phases that run side by side, each with how far it is. The loops
// report to `run`; the state word, snapshots, commands and the terminal UI read `list`.

import type { StateWord } from './state-word.ts'
import { bytes, count, duration, si } from './text/format.ts'

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
  program: { doing: 'loading the program', state: 'STARTING' },
  download: { doing: 'downloading', state: 'STARTING', tellsFrom: 0.02 },
  load: { doing: 'loading the model', state: 'STARTING', tellsFrom: 0.05 },
  start: { doing: 'starting the engines', state: 'STARTING' },
  network: { doing: 'starting the network', state: 'STARTING' },
  restore: { doing: 'going back to a checkpoint', state: 'TRAINING' },
  warmStart: { doing: 'learning from worked examples', state: 'TRAINING', tellsFrom: 0.05 },
  train: { doing: 'training', state: 'TRAINING', tellsFrom: 0.05 },
  score: { doing: 'scoring', state: 'TRAINING', tellsFrom: 0.05 },
  teach: { doing: 'asking a teacher', state: 'TRAINING', tellsFrom: 0.05 },
  // The first answers to end are the shortest.
  evaluate: { doing: 'evaluating', state: 'EVALUATING', tellsFrom: 0.3 },
  audit: { doing: 'auditing', state: 'TRAINING' },
  save: { doing: 'saving', state: 'SAVING', tellsFrom: 0.05 },
  write: { doing: 'writing answers', state: 'GENERATING' },
  verify: { doing: 'verifying', state: 'GENERATING', tellsFrom: 0.1 },
  meet: { doing: 'testing newcomers', state: 'GENERATING' },
  try: { doing: "trying peers' weights", state: 'EVALUATING' },
  join: { doing: "joining peers' weights", state: 'TRAINING' },
  export: { doing: 'exporting', state: 'TRAINING', tellsFrom: 0.05 },
  upload: { doing: 'uploading', state: 'TRAINING', tellsFrom: 0.02 },
  backup: { doing: 'backing up', state: 'SAVING', tellsFrom: 0.05 },
  unpack: { doing: 'unpacking', state: 'STARTING', tellsFrom: 0.05 },
  read: { doing: 'reading the prompt', state: 'GENERATING', tellsFrom: 0.05 },
  // The sampler takes on new weights once the answers that run have ended.
  hand: { doing: 'waiting for running answers', state: 'GENERATING' },
  close: { doing: 'closing', state: 'STOPPING', tellsFrom: 0.3 },
} as const satisfies Record<string, Kind>

export type PhaseName = keyof typeof PHASES
export const PHASE_UNITS = ['answers', 'bytes', 'groups', 'parts', 'steps', 'tokens'] as const
export type PhaseUnit = (typeof PHASE_UNITS)[number]

/** A running phase. What is unknown is absent. */
export interface PhaseInfo {
  name: PhaseName
  /** Since it began. */
  seconds: number
  /** Of `total`, in `unit`; whole ones only. */
  done?: number
  total?: number
  unit?: PhaseUnit
  /** 0 to 1. Answers that are being written count in part, as if each became as long as it may. */
  fraction?: number
  /** Units per second since it began. */
  perSecond?: number
  /** While answers are written: tokens drawn per second since it began. */
  tokensPerSecond?: number
  secondsLeft?: number
}

/**
 * Reports how far a phase is, in parts of a unit if it is known so well. A total replaces the one that it began with.
 * `tokens`: drawn since it began.
 */
export type At = (done: number, total?: number, tokens?: number) => void

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
  done: number
  tokens?: number | undefined
  size: Size
}

/** `now` is a clock in ms that never goes back. */
export function createPhases({ now }: { now(): number }): Phases {
  const running = new Set<Running>()
  const ended = new Map<PhaseName, number>()
  /** Units per second of a phase that has ended, for the next one of its kind. */
  const paces = new Map<PhaseName, number>()
  return {
    async run(name, size, work) {
      const phase: Running = { name, since: now(), done: 0, size }
      running.add(phase)
      try {
        const result = await work((done, total, tokens) => {
          phase.done = Math.max(phase.done, done)
          if (tokens !== undefined) phase.tokens = Math.max(phase.tokens ?? 0, tokens)
          if (total !== undefined) phase.size = { ...phase.size, total }
        })
        const seconds = (now() - phase.since) / 1000
        if (phase.size.total && seconds > 0) paces.set(name, phase.size.total / seconds)
        return result
      } finally {
        running.delete(phase)
        // What came before the loops is over when they begin.
        if (PHASES[name].state !== 'STARTING') ended.set(name, now())
      }
    },
    list: (seconds = SHOWN_SECONDS) =>
      [...running]
        .map((phase) => infoOf(phase, now(), paces.get(phase.name)))
        .filter((phase) => phase.seconds >= seconds)
        .sort((a, b) => ORDER.indexOf(a.name) - ORDER.indexOf(b.name)),
    foremost() {
      const names = new Set([...running].map(({ name }) => name))
      const time = now()
      return ORDER.find((name) => names.has(name) || time - (ended.get(name) ?? -Infinity) < LINGERS_MS)
    },
  }
}

/** `pace`: units per second of the last phase of this kind. */
function infoOf(
  { name, since, done, tokens, size: { unit, total } }: Running,
  now: number,
  pace: number | undefined,
): PhaseInfo {
  const seconds = Math.max(0, now - since) / 1000
  const fraction = total ? Math.min(1, done / total) : undefined
  const whole = Math.floor(done)
  const left = fraction === undefined ? undefined : remaining({ name, seconds, fraction, total, pace })
  return {
    name,
    seconds,
    ...(total || done > 0 ? { done: whole } : {}),
    ...(total === undefined ? {} : { total }),
    ...(unit === undefined ? {} : { unit }),
    ...(fraction === undefined ? {} : { fraction }),
    ...(whole > 0 && seconds >= 1 ? { perSecond: whole / seconds } : {}),
    ...(tokens && seconds >= 1 ? { tokensPerSecond: tokens / seconds } : {}),
    ...(left === undefined ? {} : { secondsLeft: left }),
  }
}

/** By the part that is done; before enough of it is, by how long the last phase of this kind took. */
function remaining({
  name,
  seconds,
  fraction,
  total = 0,
  pace,
}: {
  name: PhaseName
  seconds: number
  fraction: number
  total: number | undefined
  pace: number | undefined
}): number | undefined {
  const { tellsFrom }: Kind = PHASES[name]
  if (tellsFrom === undefined || seconds < SHOWN_SECONDS) return undefined
  if (fraction >= tellsFrom) return (seconds * (1 - fraction)) / fraction
  const left = pace === undefined ? 0 : total / pace - seconds
  return left > 0 ? left : undefined
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
  tokensPerSecond,
  secondsLeft,
}: PhaseInfo): string {
  const amount = (value: number): string => (unit === 'bytes' ? bytes(value) : count(value))
  if (fraction === undefined) return `for ${duration(seconds * 1000)}`
  const named = unit === undefined || unit === 'bytes' ? '' : ` ${unit}`
  const speed =
    tokensPerSecond !== undefined
      ? `${si(tokensPerSecond)} tokens/s`
      : perSecond !== undefined && `${unit === 'bytes' ? bytes(perSecond) : si(perSecond)}${named}/s`
  return [
    `${Math.floor(100 * fraction)} %`,
    `${amount(Math.min(done!, total!))} of ${amount(total!)}${named}`,
    speed,
    secondsLeft !== undefined && `${duration(1000 * secondsLeft)} left`,
    // The first of several large pieces takes long: the time shows that something is being done.
    done === 0 && secondsLeft === undefined && `for ${duration(1000 * seconds)}`,
  ]
    .filter(Boolean)
    .join(', ')
}

/** For example `3 of 8 groups with a signal for the first step`. */
export function nextText(next: { waiting: number; due: number }, step: number): string {
  return nextTexts(next, step)[0]
}

/** The same, from the longest to the shortest. */
export function nextTexts(
  { waiting, due }: { waiting: number; due: number },
  step: number,
): [string, ...string[]] {
  const amount = `${Math.min(waiting, due)} of ${due} groups`
  const which = step === 0 ? 'the first step' : `step ${step + 1}`
  return [`${amount} with a signal for ${which}`, `${amount} with a signal`, amount]
}

/** `doingText`, and the same with fewer and fewer facts. */
export function shorterTexts(phase: PhaseInfo): [string, ...string[]] {
  const facts = doingText(phase).split(', ')
  const shorter = facts.slice(1).map((_, i) => facts.slice(0, facts.length - 1 - i).join(', '))
  return [facts.join(', '), ...shorter]
}

/** Progress of a long request. */
export interface Progress {
  message: string
  /** Completed share, 0 to 1, if known. */
  fraction?: number
  /** Set if this is how far a phase is, which the next such line replaces. */
  phase?: PhaseInfo
}
