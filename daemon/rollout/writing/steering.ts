// Asks the flow plugin every few tokens what to do with the rollouts that are being written: keep them, park them for a
// later round, cut and verify them, or drop them. Only one question is open at a time; if a rollout ends meanwhile, the
// plugin is asked again. A rollout that has ended before the answer arrives can still be parked or dropped, but not
// cut.

import type { LiveRollout, PromptRequest, Steering, SteerView } from '../../../protocol/plugin/index.ts'
import type { Control } from '../../engine/engine.ts'
import type { Sequence } from './sequence.ts'
import type { Watcher } from './write.ts'

interface SteeringOptions {
  version: number
  /** Number of groups to finish in the round. */
  want: number
  asks: readonly PromptRequest[]
  /** Indexed by ask. */
  sequences: ReadonlyArray<readonly Sequence[]>
}

interface SteeringParts {
  steer(live: readonly LiveRollout[], view: SteerView): Promise<Map<string, Steering>>
}

/** The plugin is asked again after this many new tokens per live rollout, on average. */
const EVERY_TOKENS = 4

interface Grown {
  tokens: number
  logprob: number
  entropy: number
}
const NOTHING: Grown = { tokens: 0, logprob: 0, entropy: 0 }

interface RoundWatcher extends Watcher {
  isParked(sequence: Sequence): boolean
  isDropped(sequence: Sequence): boolean
}

export function createSteering(
  { version, want, asks, sequences }: SteeringOptions,
  { steer }: SteeringParts,
): RoundWatcher {
  const all = sequences.flatMap((of, ask) =>
    of.map((sequence, i) => ({ id: `${ask}.${i}`, ask, prompt: asks[ask]!.prompt, sequence })),
  )
  const byId = new Map(all.map((one) => [one.id, one.sequence]))
  const decided = new Map<Sequence, Exclude<Steering, 'keep'>>()
  let open: readonly Sequence[] = []
  let control: Control | undefined
  /** What each sequence has drawn in the current call. */
  const growing = new Map<Sequence, Grown>()
  let since = 0
  let asking: Promise<void> | undefined
  let again = false

  const look = (): { live: LiveRollout[]; view: SteerView } => {
    const away = new Set(all.flatMap(({ ask, sequence }) => (decided.get(sequence) === 'park' ? [ask] : [])))
    const left = all.filter(({ ask, sequence }) => !away.has(ask) && decided.get(sequence) !== 'drop')
    const isDone = (sequence: Sequence): boolean => sequence.finish !== undefined
    return {
      live: left.map(({ id, ask, prompt, sequence }) => {
        const grown = growing.get(sequence) ?? NOTHING
        return {
          ...{ id, ask, prompt, done: isDone(sequence) },
          tokens: sequence.tokens.length + grown.tokens,
          fresh: sequence.fresh + grown.tokens,
          logprob: sumOf(sequence.logprobs) + grown.logprob,
          entropy: sumOf(sequence.entropies) + grown.entropy,
        }
      }),
      view: {
        version,
        want,
        asks: asks.map((ask, i) => {
          const of = left.filter((one) => one.ask === i)
          const done = of.filter(({ sequence }) => isDone(sequence)).length
          return { ...ask, live: of.length - done, done }
        }),
      },
    }
  }
  const obey = (wishes: ReadonlyMap<string, Steering>): void => {
    const cut: number[] = []
    for (const [id, wish] of wishes) {
      const sequence = byId.get(id)
      if (!sequence || wish === 'keep' || decided.has(sequence)) continue
      if (wish === 'cut' && sequence.finish !== undefined) continue
      decided.set(sequence, wish)
      const index = open.indexOf(sequence)
      if (index >= 0 && sequence.finish === undefined) cut.push(index)
    }
    if (cut.length > 0) control?.cut(cut)
  }
  const ask = (): void => {
    if (asking) {
      again = true
      return
    }
    since = 0
    const { live, view } = look()
    asking = steer(live, view).then(obey, () => {})
    asking = asking.then(() => {
      asking = undefined
      if (!again) return
      again = false
      ask()
    })
  }

  const is = (sequence: Sequence, wish: Steering): boolean => decided.get(sequence) === wish
  return {
    begin(sequencesNow, controlNow) {
      open = sequencesNow
      control = controlNow
      growing.clear()
    },
    drawn(sequence, { logprob, entropy }) {
      const before = growing.get(sequence) ?? NOTHING
      growing.set(sequence, {
        tokens: before.tokens + 1,
        logprob: before.logprob + logprob,
        entropy: before.entropy + entropy,
      })
      since += 1
      const live = open.filter((one) => one.finish === undefined && !decided.has(one)).length
      if (since >= EVERY_TOKENS * Math.max(1, live)) ask()
    },
    taken: (sequence) => void growing.delete(sequence),
    ended: ask,
    async allDecided() {
      while (asking) await asking
      growing.clear()
    },
    isAside: (sequence) => is(sequence, 'park') || is(sequence, 'drop'),
    isCut: (sequence) => is(sequence, 'cut') && sequence.finish === undefined,
    isParked: (sequence) => is(sequence, 'park'),
    isDropped: (sequence) => is(sequence, 'drop'),
  }
}

const sumOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0)
