// Groups for tests: any that the types allow, and plain ones.

import fc from 'fast-check'
import type { Group, Rollout } from '../../protocol/train/index.ts'

const hex = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => Buffer.from(bytes).toString('hex'))
const tokens = fc.oneof(
  fc.int32Array({ maxLength: 30 }),
  fc.uint16Array({ maxLength: 30 }).map((ids) => Int32Array.from(ids)),
)
const number = fc.double()
const count = fc.nat({ max: Number.MAX_SAFE_INTEGER })
const text = fc.string({
  unit: fc.constantFrom('a', ' ', '\n', 'é', '蜂', '🐝', '\ud800', '\u0000'),
  maxLength: 40,
})
/** Names come from elsewhere than a tokenizer, and are well-formed. */
const name = text.map((any) => any.toWellFormed())

export const anyRollout: fc.Arbitrary<Rollout> = fc.record(
  {
    text,
    tokens,
    behaviourLogprobs: fc.float32Array({ maxLength: 30 }),
    entropies: fc.float32Array({ maxLength: 30 }),
    segments: fc.array(
      fc.record({ version: count, start: fc.nat(), length: fc.nat() }, { noNullPrototype: true }),
      { maxLength: 3 },
    ),
    finish: fc.constantFrom('stop', 'length', 'aborted'),
    reward: number,
    rewardParts: fc.dictionary(fc.string(), number, { maxKeys: 3, noNullPrototype: true }),
    taskReward: number,
    conditioning: tokens,
    arm: name,
    replayed: fc.nat(),
    prefix: fc.nat(),
    taught: fc.boolean(),
    lossMask: fc.uint8Array({ maxLength: 30 }),
    turns: fc.array(
      fc.record(
        { state: name, observation: name, start: fc.nat(), length: fc.nat(), reward: number },
        { noNullPrototype: true },
      ),
      { maxLength: 3 },
    ),
  },
  { requiredKeys: ['text', 'tokens', 'segments', 'finish', 'reward'], noNullPrototype: true },
)

const REQUIRED: (keyof Group)[] = [
  'id',
  'prompt',
  'conditioning',
  'author',
  'policy',
  'arm',
  'rollouts',
  'bornAt',
  'bornVersion',
]

export const anyGroup: fc.Arbitrary<Group> = fc.record(
  {
    id: fc.oneof(hex, name),
    prompt: fc.record(
      { task: name, taskVersion: count, seed: fc.nat({ max: 0xffffffff }), difficulty: count },
      { noNullPrototype: true },
    ),
    conditioning: tokens,
    author: name,
    policy: fc.record({ lineage: hex, tokenizer: hex, version: count }, { noNullPrototype: true }),
    arm: name,
    rollouts: fc.array(anyRollout, { maxLength: 4 }),
    bornAt: count,
    bornVersion: count,
    origin: fc.record(
      {
        plugin: name,
        request: name,
        parent: name,
        level: count,
        items: fc.array(name, { maxLength: 2 }),
        chain: fc.record({ id: name, position: count }, { noNullPrototype: true }),
      },
      { requiredKeys: ['plugin'], noNullPrototype: true },
    ),
    tainted: fc.boolean(),
    always: fc.boolean(),
    source: name,
  },
  { requiredKeys: REQUIRED, noNullPrototype: true },
)

/** The n-th of a row of groups. */
export function plainGroup(n: number, over: Partial<Group> = {}): Group {
  return {
    id: n.toString(16).padStart(64, '0'),
    prompt: { task: 'basic_arithmetic', taskVersion: 1, seed: n, difficulty: 1 },
    conditioning: Int32Array.of(1, 2, 3),
    author: 'someone',
    policy: { lineage: 'a'.repeat(64), tokenizer: 'b'.repeat(64), version: n },
    arm: 'base',
    rollouts: [0, 1].map((reward) => ({
      text: `answer ${n}`,
      tokens: Int32Array.of(n & 0xffff, 5),
      behaviourLogprobs: Float32Array.of(-0.5, -n),
      segments: [{ version: n, start: 0, length: 2 }],
      finish: 'stop',
      reward,
    })),
    bornAt: 1e12 + n,
    bornVersion: n,
    ...over,
  }
}
