// A gateway whose answers are written by a rule instead of a model: one call of a tool, and an answer once there is a
// result. It shows what a client's prompts are, and what a model has to learn.

import { randomBytes } from 'node:crypto'
import { openGateway } from '../../../daemon/agents/index.ts'
import type { Sample, Sampler } from '../../../daemon/engine/engine.ts'
import type { Model } from '../../../daemon/policy/model.ts'
import { createWaker } from '../../../daemon/rollout/waker.ts'
import type { Client } from './clients.ts'

/** Two ways to end a conversation; the first is rewarded. */
export const ENDS = ['It returns the sum of a and b.', 'I cannot say what it does.'] as const
const DOCUMENTED = 'def add(a, b):\n    """Add."""\n    return a + b\n'
const EDIT = `add.py\n\`\`\`\n${DOCUMENTED}\`\`\``
const TITLE = 'Adding numbers'

export function questionOf({ call }: Client): string {
  return call
    ? `Read add.py with the tool ${call.name} and say in one sentence what it does.`
    : 'Describe the function add in its docstring.'
}

/** A client that got its answers in the end: by what it printed, or by what is in the file. */
export const isRewarded = ({ call }: Client, { text, file }: { text: string; file: string }): boolean =>
  call ? text.includes(ENDS[0]) : file === DOCUMENTED

/** What the policy might write next, one or several ways. */
export function answersTo(client: Client, prompt: string): readonly string[] {
  const { call } = client
  if (!call) return prompt.includes(questionOf(client)) ? [EDIT, ENDS[1]] : [TITLE]
  if (prompt.lastIndexOf('<tool_response>') > prompt.lastIndexOf(questionOf(client))) return ENDS
  if (!prompt.includes(`{"name": "${call.name}"`)) return [TITLE]
  return [`<tool_call>${JSON.stringify(call)}</tool_call>`]
}

/** A prompt, and the answers that the policy might give, in tokens. */
export interface Lesson {
  prompt: Int32Array
  ways: readonly Int32Array[]
}

/** `onLesson` is told of each prompt of the client. */
export async function openTeacher(
  { tokenizer, spec, digest }: Model,
  client: Client,
  onLesson: (lesson: Lesson) => void,
) {
  const generate: Sampler['generate'] = async ({ samples }, { onToken } = {}) =>
    samples.map(({ prompt }, sample): Sample => {
      const ways = answersTo(client, tokenizer.decodeCompletion(prompt)).map((text) =>
        tokenizer.encodeCompletion(text, 'stop'),
      )
      onLesson({ prompt, ways })
      const tokens = ways[0]!
      const none = new Float32Array(tokens.length)
      for (const token of tokens) onToken?.({ sample, token, logprob: 0, entropy: 0 })
      return {
        ...{ tokens, logprobs: none, policyLogprobs: none, entropies: none },
        ...{ finish: 'stop', version: 0 },
      }
    })
  return await openGateway(
    {
      ...{ listen: '127.0.0.1:0', strict: false, enforces: true, rolloutSeconds: 600, maxOpen: 10 },
      ...{ groupSize: 2, model: 'waggle', parameters: 0, digest, temperature: 1, maxNewTokens: 96 },
      ...{ author: 'self', context: spec.contextLength, modelContext: spec.contextLength },
      vocabulary: spec.vocabulary,
    },
    {
      ...{ token: () => 'token', serving: { answer: async () => {} }, environments: [], tokenizer },
      ...{ sampler: { generate }, randomBytes, changed: createWaker(), onGroup: async () => {} },
      policy: () => ({ lineage: digest, tokenizer: tokenizer.digest, version: 0 }),
      ...{ isThrownAway: () => false, hasRoom: () => true, isTask: () => false, log: console.error },
      ...{ onSampled: () => {}, now: () => Date.now(), monotonic: () => performance.now() },
      after(ms, run) {
        const timer = setTimeout(run, ms)
        return () => clearTimeout(timer)
      },
    },
  )
}
