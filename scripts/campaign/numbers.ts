// G10: numbers that are not finite, from the model (log-probs of samples, losses, gradients) in a whole simulated node, and
// from peers, in the fields of their groups. Nothing that is not finite may be saved, and training must go on.

import { Verifier } from '../../daemon/swarm/admission/verify.ts'
import { decodeGroup, encodeGroup, KIND, openFrame, sealFrame } from '../../protocol/wire/index.ts'
import { testSigner } from '../../test/protocol/wire/cases.ts'
import { createNet } from '../../test/sim/net.ts'
import { createHonestNode } from '../../test/sim/node.ts'
import { createWorld, randomOf } from '../../test/sim/world.ts'
import { codec, draft, stillClock, tasks } from '../../test/swarm/groups.ts'
import type { Row } from './row.ts'

/** Big-endian floats, as CBOR has them. */
const WEIRD = [
  Number.NaN,
  Number.POSITIVE_INFINITY,
  Number.NEGATIVE_INFINITY,
  1e308,
  -1e308,
  Number.MIN_VALUE,
]

export async function numbers({ count }: { count: number }): Promise<Row> {
  const world = createWorld({ seed: 'not a number' })
  const net = createNet({ world, random: world.random('net') })
  const node = createHonestNode(
    { name: 'n0', signatures: 'stand-in' },
    { world, net, truth: { honest: new Set(), wrote: new Map(), heads: new Map() } },
  )
  node.boot()
  node.weather.nan = 0.3
  const half = count / 2
  while (node.weather.nans < half && world.breaches.length === 0) await world.run(world.time + 10_000)
  const { steps, saves } = node.checks.tally
  node.weather.nan = 0
  await world.run(world.time + 30_000)
  const after = node.checks.tally.steps - steps
  const { refused, bad } = fromPeers(half)
  return {
    goal: 'G10',
    tried: `${node.weather.nans.toLocaleString('en')} by the model over ${steps} steps and ${saves} checkpoints, ${half.toLocaleString('en')} by peers`,
    result: `${world.breaches.length} checkpoints that were not finite, ${after} steps in the 30 s afterwards; of peers' ${refused.toLocaleString('en')} refused, ${bad} taken with a number that is not finite`,
    control: 'none: what skips such steps cannot be turned off',
    isMet: world.breaches.length === 0 && after > 0 && bad === 0,
  }
}

/** Frames in which a number's bytes were replaced. */
function fromPeers(count: number): { refused: number; bad: number } {
  const random = randomOf('weird numbers')
  const [signer, clock] = [testSigner(8), stillClock()]
  let [refused, bad] = [0, 0]
  for (let i = 0; i < count; i++) {
    const { body } = openFrame(
      encodeGroup({ ...draft(1 + i), sequence: i, createdAt: clock.now() }, signer),
      1 << 20,
    )
    const bytes = Buffer.from(body)
    // Half precision (log-probs), or a float anywhere.
    const at = Math.floor(random.next() * (bytes.length - 9))
    if (random.chance(0.5)) bytes.writeUInt16LE(random.pick([0x7c00, 0xfc00, 0x7e00, 0xffff]), at)
    else {
      bytes[at] = 0xfb
      bytes.writeDoubleBE(random.pick(WEIRD), at + 1)
    }
    try {
      const shared = decodeGroup(openFrame(sealFrame(KIND.group, bytes, signer), 1 << 20))
      const verifier = new Verifier({ maxCompletionTokens: 400 }, { tasks, codec, clock, version: () => 1 })
      const result = verifier.verify({ group: shared, source: 'a peer', bytes: bytes.length })
      if ('refused' in result) refused++
      else
        for (const { reward, behaviourLogprobs } of result.group.rollouts)
          if (!Number.isFinite(reward) || behaviourLogprobs?.some((value) => !Number.isFinite(value))) bad++
    } catch {
      refused++
    }
  }
  return { refused, bad }
}
