// Turns an admitted group into one that this node may train on. Generates the prompt, verifies every completion, and
// converts it to this node's tokenizer. From the peer it takes only the text and, if the tokenizer is the same, token
// IDs that decode to that text with their log-probs.

import type { Task } from '../../../protocol/plugin/index.ts'
import {
  type Group,
  type Instance,
  isZeroSignal,
  promptKey,
  type Rollout,
} from '../../../protocol/train/index.ts'
import { contentOf, type SharedGroup } from '../../../protocol/wire/index.ts'
import type { Clock, Codec, TaskSource } from '../types.ts'
import type { Admitted } from './admission.ts'
import { Copies } from './copies.ts'
import { asEpisode, underOwnTokenizer } from './own-tokenizer.ts'
import type { Reason } from './reasons.ts'
import { SeenContent } from './seen-content.ts'

interface VerifierOptions {
  /** In tokens. Completions longer than this node writes are not trained on. */
  maxCompletionTokens: number
}

export interface VerifierParts {
  tasks: TaskSource
  codec: Codec
  seenContent?: SeenContent
  clock: Clock
  /** True for authors that the user joined or that have earned trust. Default: none. */
  isKnown?(author: string): boolean
  /** True for authors whose groups are accepted even without a signal, to get to know them. Default: none. */
  isUnknown?: ((author: string) => boolean) | undefined
  /** This node's own policy version. */
  version(): number
}

type Verification = { group: Group } | { refused: Reason; rewards?: number[] }

/** Limit on a group's mean characters per token; ordinary text has three to five. */
const MEAN_TOKEN_CHARS = 6

export class Verifier {
  private readonly options: VerifierOptions
  private readonly parts: VerifierParts
  /** Completions left out because this node's tokenizer cannot represent them. */
  droppedTexts = 0
  private readonly copies: Copies
  private readonly seenContent: SeenContent

  constructor(options: VerifierOptions, parts: VerifierParts) {
    this.options = options
    this.parts = parts
    this.seenContent = parts.seenContent ?? new SeenContent({}, parts)
    this.copies = new Copies({}, { isKnown: (author) => parts.isKnown?.(author) ?? false })
  }

  /** Runs all of `steps` at once. */
  verify(admitted: Admitted): Verification {
    const steps = this.steps(admitted)
    for (;;) {
      const { done, value } = steps.next()
      if (done) return value
    }
  }

  /** Never throws. Yields after each rollout, and within long ones, so that other work can run. */
  *steps(admitted: Admitted): Generator<void, Verification> {
    try {
      return yield* this.attempt(admitted)
    } catch {
      // A task or tokenizer that fails on hostile input is a bug here; it must not stop the node.
      return { refused: 'broken' }
    }
  }

  /** Remembers a group's texts, so that nobody else can offer them as its own. Returns the group's ID. */
  remember(shared: SharedGroup, { id, texts } = contentIn(shared)): string {
    this.copies.admit({ prompt: promptKey(shared.prompt), author: shared.author, texts })
    return this.seenContent.admit(shared.author, id)
  }

  private *attempt({ group: shared, source }: Admitted): Generator<void, Verification> {
    const { tasks, codec, clock, version } = this.parts
    const { seenContent } = this
    const { prompt, author, arm, policy } = shared
    const task = tasks.find(prompt.task, prompt.taskVersion)
    if (!task) return { refused: 'task' }
    const instance = task.generate({ seed: prompt.seed, difficulty: prompt.difficulty })
    const conditioning = codec.encodePrompt(instance.question, instance.examples)
    // A prompt longer than this node's own ones may exceed its model's context.
    const room = (codec.context ?? Number.POSITIVE_INFINITY) - conditioning.length
    const limits = { codec, most: Math.min(this.options.maxCompletionTokens, room) }
    if (charsToEncode(shared, codec) > limits.most * MEAN_TOKEN_CHARS * shared.rollouts.length)
      return { refused: 'long' }
    const rollouts: Rollout[] = []
    let unfit: Reason = 'text'
    for (const rollout of shared.rollouts) {
      const own = task.environment
        ? yield* asEpisode(rollout, shared, { environment: task.environment, instance }, limits)
        : yield* underOwnTokenizer(rollout, shared, limits)
      // An empty completion that was cut off has no tokens to train on.
      if (own === 'text' || (typeof own !== 'string' && own.tokens.length === 0)) {
        this.droppedTexts++
        continue
      }
      if (typeof own === 'string') {
        unfit = own
        break
      }
      rollouts.push({ ...own, ...rewardOf(task, instance, rollout.text) })
      yield
    }
    if (unfit !== 'text') return { refused: unfit }
    if (rollouts.length < 2) return { refused: 'text' }
    const rewards = rollouts.map((rollout) => rollout.reward)
    const content = contentIn(shared)
    if (!seenContent.isNew(author, content.id)) return { refused: 'duplicate' }
    if (this.copies.isCopy({ prompt: promptKey(prompt), author, texts: content.texts }))
      return { refused: 'copy' }
    const id = this.remember(shared, content)
    // The text is remembered anyway, so that no other author can copy it to get known.
    if (isZeroSignal(rewards) && !(policy.tokenizer === codec.tokenizer && this.parts.isUnknown?.(author)))
      return { refused: 'zeroSignal', rewards }
    const group: Group = {
      id,
      prompt,
      conditioning,
      author,
      source,
      policy,
      arm,
      rollouts,
      bornAt: clock.now(),
      bornVersion: version(),
    }
    return { group }
  }
}

function contentIn({ prompt, rollouts }: SharedGroup): ReturnType<typeof contentOf> {
  return contentOf(
    prompt,
    rollouts.map(({ text }) => text),
  )
}

/** Number of characters to encode. Token IDs of the same tokenizer are only decoded, and their number is limited. */
function charsToEncode({ policy, rollouts }: SharedGroup, { tokenizer }: Codec): number {
  const texts = rollouts.filter(({ tokens }) => !tokens || policy.tokenizer !== tokenizer)
  return texts.reduce((sum, { text }) => sum + text.length, 0)
}

function rewardOf(task: Task, instance: Instance, text: string): Pick<Rollout, 'reward' | 'rewardParts'> {
  const { score, parts } = task.verify(instance, text)
  if (!(score >= 0 && score <= 1)) throw new RangeError(`${task.name} gave a score of ${score}`)
  return { reward: score, ...(parts ? { rewardParts: parts } : {}) }
}
