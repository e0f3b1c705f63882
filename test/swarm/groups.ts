// A small real task, sums of two numbers, answered in an <answer> tag; groups of it; clocks. Loads nothing of libp2p.

import { generateKeyPairSync } from 'node:crypto'
import { identityOf } from '../../daemon/swarm/peers/identity.ts'
import type { Clock, Codec, TaskSource } from '../../daemon/swarm/types.ts'
import { defineTask, PLUGIN_API } from '../../protocol/plugin/index.ts'
import { contentId, type OwnGroupDraft } from '../../protocol/wire/index.ts'

export const sums = defineTask({
  name: 'sums',
  kind: 'task',
  api: PLUGIN_API,
  summary: 'adds two numbers',
  version: 1,
  difficulty: { min: 1, max: 3, default: 1, describe: (level) => `${level} digits` },
  generate({ seed, difficulty }) {
    const a = seed % 10 ** difficulty
    const b = (seed >>> 8) % 10 ** difficulty
    return { question: `${a} + ${b}`, key: String(a + b), steps: [] }
  },
  verify({ key }, completion) {
    const answer = /<answer>(\d{1,9})<\/answer>/.exec(completion)?.[1] ?? null
    return { score: answer === key ? 1 : 0, answer, found: answer === null ? 'none' : 'tag' }
  },
})

export const tasks: TaskSource = {
  find: (name, version) => (name === sums.name && version === sums.version ? sums : undefined),
}

/** One id a UTF-16 unit; 0x1ffff ends a sequence. */
export const codec: Codec = {
  tokenizer: 'cd'.repeat(32),
  encodePrompt: (question) => Int32Array.from(question, (c) => c.charCodeAt(0)),
  stopTokens: [0x1ffff],
  encodeReply: (observation) =>
    Int32Array.from([0x1fffe, ...Array.from(observation, (c) => c.charCodeAt(0))]),
  encodeCompletion(text, finish) {
    const ids = Array.from({ length: text.length }, (_, i) => text.charCodeAt(i))
    return Int32Array.from(finish === 'stop' ? [...ids, 0x1ffff] : ids)
  },
  decodeCompletion(ids) {
    const body = ids.at(-1) === 0x1ffff ? ids.subarray(0, -1) : ids
    if (body.some((id) => id > 0xffff)) return undefined
    return String.fromCharCode(...body)
  },
}

export const worldClock: Clock = {
  now: () => Date.now(),
  after(ms, run) {
    const timer = setTimeout(run, ms)
    return () => clearTimeout(timer)
  },
}

/** A clock that stands until it is moved. */
export function stillClock(now = 1_800_000_000_000) {
  return {
    time: now,
    now() {
      return this.time
    },
    after: () => () => {},
  }
}

/** A group with right and wrong answers; `salt` makes it unlike others. */
export function draft(seed: number, { salt = '', tokenizer = codec.tokenizer } = {}): OwnGroupDraft {
  const { key } = sums.generate({ seed, difficulty: 2 })
  const rollouts = [key, 'x', key, `${key}0`].map((answer, i) => {
    const text = `${salt} attempt ${i} of ${seed} <answer>${answer}</answer>`
    const tokens = codec.encodeCompletion(text, 'stop')
    return {
      text,
      finish: 'stop' as const,
      tokens,
      behaviourLogprobs: new Float32Array(tokens.length).fill(-0.5),
      segments: [{ version: 3, start: 0, length: tokens.length }],
    }
  })
  const prompt = { task: 'sums', taskVersion: 1, seed, difficulty: 2 }
  return {
    id: contentId(
      prompt,
      rollouts.map(({ text }) => text),
    ),
    prompt,
    arm: 'base',
    policy: { lineage: 'ab'.repeat(32), tokenizer, version: 3 },
    rollouts,
  }
}

export function freshIdentity() {
  return identityOf(generateKeyPairSync('ed25519').privateKey)
}

export async function until(what: string, holds: () => boolean, timeoutMs = 10_000): Promise<void> {
  const end = performance.now() + timeoutMs
  while (!holds()) {
    if (performance.now() > end) throw new Error(`waited in vain for ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
