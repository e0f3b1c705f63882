// Signs and numbers this node's own groups, gossips them, and keeps them for peers that missed them. Groups that are
// too large for gossip are announced instead.

import {
  type Accusation,
  encodeAccusation,
  encodeAnnouncement,
  encodeGroup,
  type Frame,
  type GroupDraft,
  MAX_GOSSIP_BYTES,
  type OwnGroupDraft,
} from '../../../protocol/wire/index.ts'
import type { Admission } from '../admission/admission.ts'
import type { Published } from '../contract.ts'
import type { RecentFrames } from '../fetch/recent-frames.ts'
import type { Identity } from '../peers/identity.ts'
import type { Clock, Codec } from '../types.ts'

/** The interface to gossipsub for the layers above it. */
export interface Gossip {
  /** Sends a message to the mesh. Resolves with the number of peers that it went to. */
  publish(message: Uint8Array): Promise<number>
  /** Lets another peer deliver this message again. */
  forget(message: { data: Uint8Array }): void
}

interface PublisherParts {
  identity: Pick<Identity, 'signer'>
  codec: Codec
  gossip: Pick<Gossip, 'publish'>
  admission: Admission
  recentFrames: RecentFrames
  /** True while uploads are behind: groups are then not sent; peers get them when they ask for missed groups. */
  isBehind(): boolean
  clock: Clock
  /** See AdmissionParts. */
  isAuthentic?: ((frame: Frame) => boolean) | undefined
}

export class Publisher {
  private readonly parts: PublisherParts
  private last = 0
  count = 0

  constructor(_options: object, parts: PublisherParts) {
    this.parts = parts
  }

  async publish(draft: OwnGroupDraft): Promise<Published> {
    const { identity, recentFrames, admission, clock } = this.parts
    const { id, prompt } = draft
    const createdAt = clock.now()
    const shown = withoutHiddenTokens(draft, this.parts.codec)
    const frame = encodeGroup({ ...shown, sequence: this.sequence(), createdAt }, identity.signer, this.parts)
    admission.sent(frame, id)
    const hash = recentFrames.add(frame, prompt.task)
    const announced = frame.length > MAX_GOSSIP_BYTES
    if (this.parts.isBehind()) return { id, bytes: frame.length, recipients: 0, announced }
    const facts = { prompt, hash, size: frame.length, createdAt }
    const message = announced
      ? encodeAnnouncement({ ...facts, sequence: this.sequence() }, identity.signer)
      : frame
    if (announced) admission.sent(message)
    const recipients = await this.parts.gossip.publish(message)
    this.count++
    return { id, bytes: frame.length, recipients, announced }
  }

  /** Tells all peers. */
  async accuse(accusation: Omit<Accusation, 'author' | 'createdAt'>): Promise<void> {
    const { identity, admission, clock, gossip } = this.parts
    const frame = encodeAccusation({ ...accusation, createdAt: clock.now() }, identity.signer)
    admission.sent(frame)
    if (!this.parts.isBehind()) await gossip.publish(frame)
  }

  /** Derived from the clock, so that sequence numbers rise across restarts without being saved. */
  private sequence(): number {
    this.last = Math.max(this.last + 1, this.parts.clock.now())
    return this.last
  }
}

/**
 * A policy may sample a special token in the middle of a completion, where the text does not show it. Receivers refuse
 * tokens that differ from their own tokenization of the text, since anything could hide there. For such a completion,
 * only the text is sent.
 */
function withoutHiddenTokens(draft: GroupDraft, codec: Codec): GroupDraft {
  if (draft.policy.tokenizer !== codec.tokenizer) return draft
  const rollouts = draft.rollouts.map((rollout) => {
    const { tokens, behaviourLogprobs: _, ...textOnly } = rollout
    return tokens && codec.decodeCompletion(tokens) !== rollout.text ? textOnly : rollout
  })
  return { ...draft, rollouts }
}
