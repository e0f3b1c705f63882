// The groups behind the golden fixtures: each is written in fixtures/<name>.hex, byte for byte. Fixtures are added,
// never changed, within a major version.

import { Buffer } from 'node:buffer'
import { createPrivateKey, createPublicKey, sign } from 'node:crypto'
import type { GroupDraft, Signer } from '../../../protocol/wire/index.ts'

/** A signer with a key made of one repeated byte. */
export function testSigner(byte = 7): Signer {
  const seed = Buffer.alloc(32, byte)
  const key = createPrivateKey({
    key: Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), seed]),
    format: 'der',
    type: 'pkcs8',
  })
  const publicKey = createPublicKey(key).export({ format: 'der', type: 'spki' }).subarray(-32)
  return { publicKey, sign: (message) => sign(null, message, key) }
}

type Case = GroupDraft & { sequence: number; createdAt: number }

const policy = { lineage: 'ab'.repeat(32), tokenizer: 'cd'.repeat(32), version: 41 }

export const CASES: Record<string, Case> = {
  'group-text-only': {
    prompt: { task: 'basic_arithmetic', taskVersion: 1, seed: 1234, difficulty: 3 },
    arm: 'base',
    policy,
    rollouts: [
      { text: '<answer>12</answer>', finish: 'stop', segments: [] },
      { text: 'I do not know', finish: 'length', segments: [] },
    ],
    sequence: 1_700_000_000_000,
    createdAt: 1_700_000_000_123,
  },
  'group-with-logprobs': {
    prompt: { task: 'base_conversion', taskVersion: 2, seed: 0x7fff_ffff, difficulty: 0 },
    arm: 'hint.3',
    policy,
    rollouts: [
      {
        text: '0x1f\n',
        finish: 'stop',
        tokens: Int32Array.of(0, 127, 128, 16_383, 16_384, 1_048_575),
        behaviourLogprobs: Float32Array.of(-0.0001, -0.5, -1, -7.25, -30, -64),
        segments: [
          { version: 40, start: 0, length: 2 },
          { version: 41, start: 2, length: 4 },
        ],
      },
      {
        text: '',
        finish: 'stop',
        tokens: Int32Array.of(2),
        behaviourLogprobs: Float32Array.of(-3),
        segments: [{ version: 41, start: 0, length: 1 }],
      },
    ],
    sequence: 0,
    createdAt: 0,
  },
  'group-odd-text': {
    prompt: { task: 'a', taskVersion: 4_294_967_295, seed: 0, difficulty: -1_000_000 },
    arm: 'base',
    policy: { ...policy, version: Number.MAX_SAFE_INTEGER },
    rollouts: [
      {
        text: '\ufeffBOM, e\u0301 (not composed), \u202eright to left, \u0000 and 🐝',
        finish: 'stop',
        segments: [],
      },
      { text: 'é'.repeat(300), finish: 'stop', segments: [] },
      { text: '\u001b[2J', finish: 'stop', segments: [] },
    ],
    sequence: Number.MAX_SAFE_INTEGER,
    createdAt: Number.MAX_SAFE_INTEGER,
  },
}
