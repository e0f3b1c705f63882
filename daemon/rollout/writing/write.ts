// Has the sampler write sequences until each has ended or been set aside. Tasks without turns take one sampler call.
// Episodes take one sampler call per turn, for all episodes of the round together.

import type { ComposeView } from '../../../protocol/plugin/index.ts'
import { createControl } from '../../engine/control.ts'
import type { Control, DrawnToken, Sample, Sampler } from '../../engine/engine.ts'
import type { Composed } from '../../host/contract.ts'
import type { Tokenizer } from '../../policy/tokens/tokenizer.ts'
import { plainText } from './conditioning.ts'
import { append, appendReply, endAnswer, type Sequence, sampleOf } from './sequence.ts'

export interface WriteOptions {
  /** Maximum number of tokens of a completion, or of a whole episode including the environment's observations. */
  maxNewTokens: number
  /** Maximum number of tokens of conditioning and completion together. */
  context: number
  temperature: number
  signal?: AbortSignal | undefined
  /**
   * Called now and then with the number of sequences that have ended, and of tokens drawn in this call. A sequence that
   * is being written counts in part, by its tokens as a share of `maxNewTokens`.
   */
  onDone?: ((sequences: number, tokens: number) => void) | undefined
}

/** Follows sequences while they are written, and can cut them; see steering.ts. */
export interface Watcher {
  /** A sampler call begins with these sequences; use `control` to cut them. */
  begin(sequences: readonly Sequence[], control: Control): void
  /** The sampler drew one more token. */
  drawn(sequence: Sequence, token: DrawnToken): void
  /** All drawn tokens have been added to the sequence. */
  taken(sequence: Sequence): void
  /** A sequence, or its current answer, has ended by itself. */
  ended(sequence: Sequence): void
  /** Resolves once no decision about this call is pending. */
  allDecided(): Promise<void>
  /** True if this round does not continue the sequence. */
  isAside(sequence: Sequence): boolean
  /** True if the sequence was cut and ends where it is. */
  isCut(sequence: Sequence): boolean
}

interface WriteParts {
  sampler: Pick<Sampler, 'generate'>
  tokenizer: Tokenizer
  watcher?: Watcher | undefined
  /** Gives the plugins' text around the environment's observations. */
  compose?: ((view: ComposeView) => Promise<Composed | undefined>) | undefined
}

export function roomOf({ job, tokens }: Sequence, { maxNewTokens, context }: WriteOptions): number {
  return Math.min(maxNewTokens, context - job.conditioning.length) - tokens.length
}

/** Returns the number of tokens drawn. A sequence without a finish was set aside, or the call was aborted. */
export async function writeSequences(
  sequences: readonly Sequence[],
  options: WriteOptions,
  parts: WriteParts,
): Promise<number> {
  const { sampler, tokenizer, watcher } = parts
  const { signal, maxNewTokens, temperature, onDone } = options
  let total = 0
  /** `running`: tokens of sequences that the sampler is writing. */
  const tell = (running: number): void => {
    const ended = sequences.filter(({ finish }) => finish !== undefined).length
    const open = Math.min(running / maxNewTokens, sequences.length - ended)
    onDone?.(ended + open, total + running)
  }
  for (;;) {
    const open: Sequence[] = []
    for (const sequence of sequences) {
      if (sequence.finish !== undefined || watcher?.isAside(sequence)) continue
      // A prompt that fills the context gets an answer of no tokens.
      if (roomOf(sequence, options) < 1) endAnswer(sequence, 'length', tokenizer)
      else open.push(sequence)
    }
    if (open.length === 0) return total
    const toReply = new Set<Sequence>()
    const taken = new Set<number>()
    const before = total
    let drawn = 0
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
      tell(Math.max(0, drawn - (total - before)))
    }
    const control = watcher && createControl()
    if (control) watcher.begin(open, control)
    const written = await sampler.generate(
      {
        samples: open.map((sequence) => sampleOf(sequence, roomOf(sequence, options), maxNewTokens)),
        maxNewTokens,
        temperature,
        stopTokens: tokenizer.stopTokens,
      },
      {
        ...(signal ? { signal } : {}),
        ...(control || onDone ? { onFinish: take } : {}),
        ...(onDone && {
          onDrawn(tokens: number) {
            drawn = tokens
            tell(Math.max(0, drawn - (total - before)))
          },
        }),
        ...(control && {
          control,
          onToken: (token: DrawnToken) => watcher.drawn(open[token.sample]!, token),
        }),
      },
    )
    written.forEach((sample, i) => {
      take(i, sample)
    })
    await watcher?.allDecided()
    for (const [i, sequence] of open.entries()) {
      if (!watcher?.isCut(sequence)) continue
      if (written[i]!.finish === 'aborted') endAnswer(sequence, 'aborted', tokenizer)
      // The episode was cut between two answers.
      else sequence.finish = 'aborted'
    }
    // In the order of the sequences, not in the order in which they ended. Parked ones get their reply too.
    for (const sequence of open)
      if (toReply.has(sequence) && sequence.finish === undefined) await reply(sequence, options, parts)
    if (signal?.aborted) return total
    const stuck = open.find(
      (sequence, i) =>
        written[i]!.finish === 'aborted' && sequence.finish === undefined && !watcher?.isAside(sequence),
    )
    if (stuck) return total
  }
}

/** Appends the environment's observation, or ends the episode if it does not fit. */
async function reply(sequence: Sequence, options: WriteOptions, parts: WriteParts): Promise<void> {
  const { job, play } = sequence
  const turns = play!.turns.map((turn, i) => ({ ...turn, ...sequence.spans[i]! }))
  const composed = await parts.compose?.({
    prompt: job.prompt,
    question: job.instance.question,
    turn: turns.length,
    observation: play!.observation,
    turns,
  })
  const plain = parts.tokenizer.encodeReply(play!.observation)
  const safe = (text: string): string => plainText(parts.tokenizer, text)
  const shown =
    composed &&
    parts.tokenizer.encodeReply(`${safe(composed.before)}${play!.observation}${safe(composed.after)}`)
  const room = roomOf(sequence, options) - 1
  if (composed && shown && shown.length <= room) {
    sequence.arm = composed.arm
    sequence.tainted ||= composed.tainted
    appendReply(sequence, shown)
  } else if (plain.length <= room) appendReply(sequence, plain)
  else sequence.finish = 'length'
}
