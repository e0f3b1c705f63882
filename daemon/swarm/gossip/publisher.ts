// Signs and numbers this node's own groups, keeps them for peers that ask, and gossips them, or announces those too large for
// gossip.

import type { GossipSub } from '@libp2p/gossipsub'
import {
  encodeAnnouncement,
  encodeGroup,
  type GroupDraft,
  MAX_GOSSIP_BYTES,
  type OwnGroupDraft,
} from '../../../protocol/wire/index.ts'
import type { Admission } from '../admission/admission.ts'
import type { Published } from '../contract.ts'
import type { RecentFrames } from '../fetch/recent-frames.ts'
import type { Identity } from '../peers/identity.ts'
import type { Clock, Codec } from '../types.ts'

export interface PublisherParts {
  identity: Pick<Identity, 'signer'>
  codec: Codec
  pubsub: GossipSub
  admission: Admission
  recentFrames: RecentFrames
  clock: Clock
}

export class Publisher {
  private readonly topic: string
  private readonly by: PublisherParts
  private last = 0
  count = 0

  constructor({ topic }: { topic: string }, parts: PublisherParts) {
    this.topic = topic
    this.by = parts
  }

  async publish(draft: OwnGroupDraft): Promise<Published> {
    const { identity, recentFrames, admission, clock } = this.by
    const { id, prompt } = draft
    const createdAt = clock.now()
    const shown = withoutHiddenTokens(draft, this.by.codec)
    const frame = encodeGroup({ ...shown, sequence: this.sequence(), createdAt }, identity.signer)
    admission.sent(frame, id)
    const hash = recentFrames.add(frame, prompt.task)
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
