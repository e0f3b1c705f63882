// Has the engine write sequences until each has ended or been set aside. Those of tasks without turns take one call of
// the engine; episodes take a call a turn, with all episodes of the round side by side in it.

import type { ComposeView } from '../../protocol/plugin/index.ts'
import { createControl } from '../engine/control.ts'
import type { Control, DrawnToken, Engine, Sample } from '../engine/engine.ts'
import type { Composed } from '../host/contract.ts'
import type { Tokenizer } from '../policy/tokenizer.ts'
import { plainText } from './conditioning.ts'
import { append, appendReply, endAnswer, type Sequence, sampleOf } from './sequence.ts'

export interface WriteOptions {
  /** Tokens of a completion; of an episode as a whole, what the environment shows included. */
  maxNewTokens: number
  /** Most tokens that conditioning and completion may have together. */
  context: number
  temperature: number
  signal?: AbortSignal | undefined
}

/** Who watches sequences while they are written; see steering.ts. */
export interface Watcher {
  /** A call of the engine begins with these; they are cut through `control`. */
  begin(sequences: readonly Sequence[], control: Control): void
  drawn(sequence: Sequence): void
  /** What was drawn is in the sequence now. */
  taken(sequence: Sequence): void
  /** One has ended by itself, or at least its answer. */
  ended(sequence: Sequence): void
  /** Resolves once nothing more is decided about this call. */
  settled(): Promise<void>
  /** True for one that is not to be gone on with. */
  isAside(sequence: Sequence): boolean
  /** True for one that was cut so that it ends where it is. */
  isCut(sequence: Sequence): boolean
}

export interface WriteCollaborators {
  engine: Engine
  tokenizer: Tokenizer
  watcher?: Watcher | undefined
  /** Text around what an environment shows. */
  compose?: ((view: ComposeView) => Promise<Composed | undefined>) | undefined
}

export function roomOf({ order, tokens }: Sequence, { maxNewTokens, context }: WriteOptions): number {
  return Math.min(maxNewTokens, context - order.conditioning.length) - tokens.length
}

/** A sequence without a finish afterwards was set aside, or the call was aborted. Gives the tokens drawn. */
export async function writeSequences(
  sequences: readonly Sequence[],
  options: WriteOptions,
  by: WriteCollaborators,
): Promise<number> {
  const { engine, tokenizer, watcher } = by
  const { signal, maxNewTokens, temperature } = options
  let total = 0
  for (;;) {
    const open: Sequence[] = []
    for (const sequence of sequences) {
      if (sequence.finish !== undefined || watcher?.isAside(sequence)) continue
      if (sequence.tokens.length > 0 && roomOf(sequence, options) < 1)
        endAnswer(sequence, 'length', tokenizer)
      else open.push(sequence)
    }
    if (open.length === 0) return total
    const toReply = new Set<Sequence>()
    const taken = new Set<number>()
    const take = (sample: number, written: Sample): void => {
      if (taken.has(sample)) return
      taken.add(sample)
      const sequence = open[sample]!
      append(sequence, written)
      total += written.tokens.length
      watcher?.taken(sequence)
      if (written.finish === 'aborted') return
      if (endAnswer(sequence, written.finish, tokenizer)) toReply.add(sequence)
      watcher?.ended(sequence)
    }
    const control = watcher && createControl()
    if (control) watcher.begin(open, control)
    const written = await engine.generate(
      {
        samples: open.map((sequence) => sampleOf(sequence, roomOf(sequence, options), maxNewTokens)),
        maxNewTokens,
        temperature,
        stopTokens: tokenizer.stopTokens,
      },
      {
        ...(signal ? { signal } : {}),
        ...(control
          ? {
              control,
              onToken: ({ sample }: DrawnToken) => watcher.drawn(open[sample]!),
              onFinish: take,
            }
          : {}),
      },
    )
    written.forEach((sample, i) => {
      take(i, sample)
    })
    await watcher?.settled()
    for (const [i, sequence] of open.entries()) {
      if (!watcher?.isCut(sequence)) continue
      if (written[i]!.finish === 'aborted') endAnswer(sequence, 'aborted', tokenizer)
      // Between two answers.
      else sequence.finish = 'aborted'
    }
    // In the order of the sequences, whichever ended first; those that are parked, too.
    for (const sequence of open)
      if (toReply.has(sequence) && sequence.finish === undefined) await reply(sequence, options, by)
    if (signal?.aborted) return total
    const stuck = open.find(
      (sequence, i) =>
        written[i]!.finish === 'aborted' && sequence.finish === undefined && !watcher?.isAside(sequence),
    )
    if (stuck) return total
  }
}

/** Shows what the environment says, or ends the episode where that no longer fits. */
async function reply(sequence: Sequence, options: WriteOptions, by: WriteCollaborators): Promise<void> {
  const { order, play } = sequence
  const turns = play!.turns.map((turn, i) => ({ ...turn, ...sequence.places[i]! }))
  const composed = await by.compose?.({
    prompt: order.prompt,
    question: order.instance.question,
    turn: turns.length,
    observation: play!.observation,
    turns,
  })
  const plain = by.tokenizer.encodeReply(play!.observation)
  const safe = (text: string): string => plainText(by.tokenizer, text)
  const shown =
    composed &&
    by.tokenizer.encodeReply(`${safe(composed.before)}${play!.observation}${safe(composed.after)}`)
  const room = roomOf(sequence, options) - 1
  if (composed && shown && shown.length <= room) {
    sequence.arm = composed.arm
    sequence.tainted ||= composed.tainted
    appendReply(sequence, shown)
  } else if (plain.length <= room) appendReply(sequence, plain)
  else sequence.finish = 'length'
}
