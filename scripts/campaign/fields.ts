// G05: groups with one forged field each. Either the group is refused, or what is trained on was computed here: the question,
// the rewards, and the text that belongs to the tokens. A liar's rewards and keys have no way in.

import { decode } from 'cborg'
import { Verifier } from '../../daemon/swarm/admission/verify.ts'
import { type Writable, writeCbor } from '../../protocol/wire/cbor.ts'
import { decodeGroup, encodeGroup, KIND, openFrame, sealFrame } from '../../protocol/wire/index.ts'
import { testSigner } from '../../test/protocol/wire/cases.ts'
import { type Random, randomOf } from '../../test/sim/world.ts'
import { codec, draft, stillClock, sums, tasks } from '../../test/swarm/groups.ts'
import type { Row } from './row.ts'

const NAMES =
  'reward rewards advantage key y answer score verdict author id question conditioning __proto__ constructor'.split(
    ' ',
  )
const VALUES: readonly Writable[] = [
  1,
  0,
  -1,
  1e300,
  2 ** 53,
  0.5,
  '',
  '1',
  'x'.repeat(300),
  true,
  null,
  [],
  [1, 1],
  {},
  new Uint8Array(40).fill(255),
]

type Node = Record<string, Writable> | Writable[]

/** Changes, adds or removes a field anywhere in a body. */
function forge(body: Node, random: Random): void {
  let at: Node = body
  for (;;) {
    const keys = Object.keys(at)
    const key = random.pick(keys)
    const inside = (at as Record<string, Writable>)[key]
    const isNode = typeof inside === 'object' && inside !== null && !(inside instanceof Uint8Array)
    if (isNode && Object.keys(inside).length > 0 && random.chance(0.7)) {
      at = inside as Node
      continue
    }
    const fields = at as Record<string, Writable>
    if (Array.isArray(at)) at[Number(key)] = random.pick(VALUES)
    else if (random.chance(0.4)) fields[random.pick(NAMES)] = random.pick(VALUES)
    else if (random.chance(0.2)) delete fields[key]
    else if (inside instanceof Uint8Array && random.chance(0.6)) {
      const bytes = Uint8Array.from(inside)
      bytes[Math.floor(random.next() * bytes.length)]! ^= 1 + Math.floor(random.next() * 255)
      fields[key] = bytes
    } else if (typeof inside === 'number' && random.chance(0.6))
      fields[key] = inside + random.pick([-1, 1, 1000])
    else fields[key] = random.pick(VALUES)
    return
  }
}

export async function fields({ count }: { count: number }): Promise<Row> {
  const random = randomOf('forged fields')
  const signer = testSigner(3)
  const clock = stillClock()
  let [refused, taken, pointless, wrong] = [0, 0, 0, 0]
  const seen = new Set<string>([
    'id',
    'prompt',
    'conditioning',
    'author',
    'source',
    'policy',
    'arm',
    'rollouts',
    'bornAt',
    'bornVersion',
  ])
  for (let i = 0; i < count; i++) {
    const honest = openFrame(
      encodeGroup(
        { ...draft(1 + (i % 5000), { salt: String(i) }), sequence: i, createdAt: clock.now() },
        signer,
      ),
      1 << 20,
    )
    const body = decode(honest.body) as Node
    forge(body, random)
    const verifier = new Verifier({ maxCompletionTokens: 400 }, { tasks, codec, clock, version: () => 1 })
    try {
      const shared = decodeGroup(
        openFrame(sealFrame(KIND.group, writeCbor(body as Writable), signer), 1 << 20),
      )
      const result = verifier.verify({ group: shared, source: 'a peer', bytes: 1000 })
      if ('refused' in result) {
        refused++
        if (result.refused === 'zeroSignal') pointless++
        continue
      }
      taken++
      const { group } = result
      const instance = sums.generate(group.prompt)
      const isOurs =
        Object.keys(group).every((key) => seen.has(key)) &&
        String(group.conditioning) === String(codec.encodePrompt(instance.question)) &&
        group.rollouts.every(
          ({ reward, text, tokens }) =>
            reward === sums.verify(instance, text).score && codec.decodeCompletion(tokens) === text,
        )
      if (!isOurs) wrong++
    } catch {
      refused++
    }
  }
  return {
    goal: 'G05',
    tried: `${count.toLocaleString('en')} groups with a forged field`,
    result: `${refused.toLocaleString('en')} refused, ${taken.toLocaleString('en')} taken with question, rewards and text as computed here; ${wrong} otherwise`,
    control: `${pointless.toLocaleString('en')} of those refused have another question or text, and only zeros by this node's own rewards; who believed the sender would train on them`,
    isMet: wrong === 0,
  }
}
