// A hostile author of groups beside a real daemon: its groups come of scripts/lab/nodes/attackers.ts, and it
// writes the wire form itself, since an honest encoder refuses some of them.

import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { loadModel } from '../../../daemon/policy/model.ts'
import { createTaskBook } from '../../../daemon/rollout/tasks.ts'
import { nodeDisk as disk } from '../../../daemon/store/node-disk.ts'
import { TASKS } from '../../../plugins/tasks/index.ts'
import {
  type GroupDraft,
  MAX_GOSSIP_BYTES,
  packLogprobs,
  packTokens,
  writeCbor,
} from '../../../protocol/wire/index.ts'
import { promptBody } from '../../../protocol/wire/prompt.ts'
import { type Attack, createAttacker } from '../../../scripts/lab/nodes/attackers.ts'
import { freshIdentity } from '../groups.ts'
import { publish, signedBody, startAttacker } from './attacker.ts'

export interface HostileAuthorOptions {
  attack: Attack
  /** The victim's. */
  address: string
  swarm: string
  task: { name: string; difficulty: number }
  /** Rollouts of a group, and tokens of a long completion; groups of these sizes by turns. */
  sizes: ReadonlyArray<{ rollouts: number; tokens: number }>
  everyMs: number
}

export interface HostileAuthor {
  /** The author of its groups, unless each has its own, and the connection that they come through. */
  author: string
  connection: string
  /** Groups sent so far. */
  sent(): number
  stop(): Promise<void>
}

/** Sends one group after another until it is stopped. */
export async function startHostileAuthor(options: HostileAuthorOptions): Promise<HostileAuthor> {
  const { attack, address, swarm, sizes, everyMs } = options
  const folder = fileURLToPath(new URL('../../../models/default', import.meta.url))
  const model = await loadModel(folder, { disk })
  const tasks = createTaskBook(TASKS, [options.task]).chosen
  const sources = sizes.map((size, i) =>
    createAttacker({ attack, name: `source ${i}`, seed: i, model, tasks, groups: 1, ...size }),
  )
  const first = freshIdentity()
  const signerOf = () => (attack === 'strangers' ? freshIdentity() : first).signer
  const node = await startAttacker(address, swarm)
  let [sent, stopped] = [0, false]
  const done = (async () => {
    while (!stopped) {
      for (const draft of await sources[sent % sources.length]!.round()) {
        const frame = signedBody(bodyOf(draft, sent), signerOf())
        if (frame.length > MAX_GOSSIP_BYTES) throw new Error(`${frame.length} bytes are too many for gossip`)
        await publish(node, frame, swarm)
        sent++
      }
      await sleep(everyMs)
    }
  })()
  return {
    author: first.peerId,
    connection: node.peerId.toString(),
    sent: () => sent,
    async stop() {
      stopped = true
      await done
      await node.stop()
    },
  }
}

/** As protocol/wire/messages/group.ts writes it, without its checks. */
function bodyOf({ prompt, arm, policy, rollouts }: GroupDraft, sequence: number): Uint8Array {
  return writeCbor({
    prompt: promptBody(prompt),
    arm,
    policy: {
      lineage: Buffer.from(policy.lineage, 'hex'),
      tokenizer: Buffer.from(policy.tokenizer, 'hex'),
      version: policy.version,
    },
    rollouts: rollouts.map(({ text, finish, segments, tokens, behaviourLogprobs }) => ({
      text,
      finish,
      segments: segments.map(({ version, length }) => [version, length]),
      tokens: packTokens(tokens!),
      logprobs: packLogprobs(behaviourLogprobs!),
    })),
    sequence: Date.now() + sequence,
    created: Date.now(),
  })
}
