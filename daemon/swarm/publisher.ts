// This node's own groups on their way out: signed, numbered, put on the shelf, and gossiped; or, where they are too large
// for gossip, announced.

import type { GossipSub } from '@libp2p/gossipsub'
import {
  contentId,
  encodeAnnouncement,
  encodeGroup,
  type GroupDraft,
  MAX_GOSSIP_BYTES,
} from '../../protocol/wire/index.ts'
import type { Admission } from './admission.ts'
import type { Published } from './contract.ts'
import type { Identity } from './identity.ts'
import type { Shelf } from './shelf.ts'
import type { Clock, Codec } from './types.ts'

export interface PublisherCollaborators {
  identity: Pick<Identity, 'signer'>
  codec: Codec
  pubsub: GossipSub
  admission: Admission
  shelf: Shelf
  clock: Clock
}

export class Publisher {
  private readonly topic: string
  private readonly by: PublisherCollaborators
  private last = 0
  count = 0

  constructor({ topic }: { topic: string }, collaborators: PublisherCollaborators) {
    this.topic = topic
    this.by = collaborators
  }

  async publish(draft: GroupDraft): Promise<Published> {
    const { identity, shelf, admission, clock } = this.by
    const { prompt } = draft
    const createdAt = clock.now()
    const shown = withoutHiddenTokens(draft, this.by.codec)
    const frame = encodeGroup({ ...shown, sequence: this.sequence(), createdAt }, identity.signer)
    const id = contentId(
      prompt,
      draft.rollouts.map((rollout) => rollout.text),
    )
    admission.sent(frame, id)
    const hash = shelf.add(frame, prompt.task)
    const announced = frame.length > MAX_GOSSIP_BYTES
    const facts = { prompt, hash, size: frame.length, createdAt }
    const message = announced
      ? encodeAnnouncement({ ...facts, sequence: this.sequence() }, identity.signer)
      : frame
    if (announced) admission.sent(message)
    const { recipients } = await this.by.pubsub.publish(this.topic, message)
    this.count++
    return { id, bytes: frame.length, recipients: recipients.length, announced }
  }

  /** By the clock, so that numbers go on rising over a restart without having been saved. */
  private sequence(): number {
    this.last = Math.max(this.last + 1, this.by.clock.now())
    return this.last
  }
}

/**
 * A policy may draw a special token in the middle of a completion, which the text does not show. No receiver takes tokens
 * that its own tokenizer does not turn into the text, since anything could hide there: of such a completion it gets the
 * text alone.
 */
function withoutHiddenTokens(draft: GroupDraft, codec: Codec): GroupDraft {
  if (draft.policy.tokenizer !== codec.tokenizer) return draft
  const rollouts = draft.rollouts.map((rollout) => {
    const { tokens, behaviourLogprobs: _, ...textOnly } = rollout
    return tokens && codec.decodeCompletion(tokens) !== rollout.text ? textOnly : rollout
  })
  return { ...draft, rollouts }
}
