// From what a peer says it wrote to a group that this node may train on: makes the prompt itself, verifies every
// completion itself, and puts text and tokens under this node's own tokenizer. Nothing of the result is the peer's word
// but the text, and, where the tokenizer is the same, token ids that decode to that text and their log-probs.

import type { Task } from '../../protocol/plugin/index.ts'
import {
  type Group,
  type Instance,
  isZeroSignal,
  promptKey,
  type Rollout,
} from '../../protocol/train/index.ts'
import { normalText, type SharedGroup } from '../../protocol/wire/index.ts'
import type { Admitted } from './admission.ts'
import { asEpisode, underOwnTokenizer } from './own-tokenizer.ts'
import type { Reason } from './reasons.ts'
import type { Clock, Codec, TaskSource } from './types.ts'

export interface VerifierOptions {
  /** Tokens; longer completions than this node's own are not trained on (G22). */
  maxCompletionTokens: number
}

export interface VerifierCollaborators {
  tasks: TaskSource
  codec: Codec
  clock: Clock
  /** This node's own policy version. */
  version(): number
}

export type Verification = { group: Group } | { refused: Reason; rewards?: number[] }

/** Prompts whose authors and texts are remembered, to find copies with a few words changed. */
const REMEMBERED_PROMPTS = 2048
/** Shorter texts are alike without having been copied: `<answer>7</answer>`. */
const COPY_MIN_CHARS = 32

export class Verifier {
  private readonly options: VerifierOptions
  private readonly by: VerifierCollaborators
  /** Completions that this node's tokenizer cannot represent, and that were left out for it. */
  droppedTexts = 0
  private readonly texts = new Map<string, { author: string; texts: Set<string> }>()

  constructor(options: VerifierOptions, collaborators: VerifierCollaborators) {
    this.options = options
    this.by = collaborators
  }

  /** Never throws. Takes up to some 50 ms a rollout on text made to be slow, typically well under 1 ms. */
  verify({ group: shared, id }: Admitted): Verification {
    try {
      return this.attempt(shared, id)
    } catch {
      // A generator, verifier or tokenizer that fails on hostile input is our bug, and must not be the node's end.
      return { refused: 'broken' }
    }
  }

  private attempt(shared: SharedGroup, id: string): Verification {
    const { tasks, codec, clock, version } = this.by
    const { prompt, author, arm, policy } = shared
    const task = tasks.find(prompt.task, prompt.taskVersion)
    if (!task) return { refused: 'task' }
    if (this.isCopy(shared)) return { refused: 'copy' }
    const instance = task.generate({ seed: prompt.seed, difficulty: prompt.difficulty })
    const conditioning = codec.encodePrompt(instance.question)
    // A harder prompt than this node asks may be longer than its model can read.
    const room = (codec.context ?? Number.POSITIVE_INFINITY) - conditioning.length
    const limits = { codec, most: Math.min(this.options.maxCompletionTokens, room) }
    const rollouts: Rollout[] = []
    let unfit: Reason = 'text'
    for (const rollout of shared.rollouts) {
      const own = task.environment
        ? asEpisode(rollout, shared, { environment: task.environment, instance }, limits)
        : underOwnTokenizer(rollout, shared, limits)
      if (own === 'text') {
        this.droppedTexts++
        continue
      }
      if (typeof own === 'string') {
        unfit = own
        break
      }
      rollouts.push({ ...own, reward: rewardOf(task, instance, rollout.text) })
    }
    if (unfit !== 'text') return { refused: unfit }
    if (rollouts.length < 2) return { refused: 'text' }
    const rewards = rollouts.map((rollout) => rollout.reward)
    if (isZeroSignal(rewards)) return { refused: 'zeroSignal', rewards }
    const group: Group = {
      id,
      prompt,
      conditioning,
      author,
      policy,
      arm,
      rollouts,
      bornAt: clock.now(),
      bornVersion: version(),
    }
    return { group }
  }

  /** Half or more of its longer texts were another author's first, for the same prompt. */
  private isCopy({ prompt, author, rollouts }: SharedGroup): boolean {
    const long = rollouts.map(({ text }) => normalText(text)).filter((text) => text.length >= COPY_MIN_CHARS)
    const key = promptKey(prompt)
    const before = this.texts.get(key)
    if (before === undefined) {
      if (long.length === 0) return false
      if (this.texts.size >= REMEMBERED_PROMPTS) this.texts.delete(this.texts.keys().next().value!)
      this.texts.set(key, { author, texts: new Set(long) })
      return false
    }
    const known = long.filter((text) => before.texts.has(text)).length
    return before.author !== author && known > 0 && known * 2 >= long.length
  }
}

function rewardOf(task: Task, instance: Instance, text: string): number {
  const { score } = task.verify(instance, text)
  if (!(score >= 0 && score <= 1)) throw new RangeError(`${task.name} gave a score of ${score}`)
  return score
}
