// The sections [control], [serve] and [agents]: what the node serves to people and programs.

import { z } from 'zod'

export const control = z.strictObject({
  listen: z
    .string()
    .regex(/^(\[[0-9a-fA-F:]+\]|[^\s:[\]]+):\d{1,5}$/, 'must be host:port, such as 127.0.0.1:4190')
    .optional()
    .describe(
      'host:port that serves the control API and /metrics over TCP, with tokens, beside the unix socket',
    ),
  public: z
    .boolean()
    .default(false)
    .describe('allow control.listen on an address that other machines can reach, unencrypted'),
})

export const serve = z.strictObject({
  listen: z
    .string()
    .regex(/^(\[[0-9a-fA-F:]+\]|[^\s:[\]]+):\d{1,5}$/, 'must be host:port, such as 127.0.0.1:4390')
    .optional()
    .describe('host:port at which the model answers people and programs; nothing of it is trained on'),
  public: z
    .boolean()
    .default(false)
    .describe('allow serve.listen on an address that other machines can reach, unencrypted'),
  origins: z
    .array(z.string().regex(/^https?:\/\/[^/\s]+$/, 'must be an origin, such as https://chat.example.org'))
    .max(64)
    .default([])
    .describe('web pages of these origins may use serve.listen'),
  max_calls: z.int().min(1).max(256).default(8).describe('served calls that are answered at a time'),
  max_waiting: z
    .int()
    .min(0)
    .max(4096)
    .default(64)
    .describe('served calls that may wait for their turn; further ones get 429'),
})

export const agents = z.strictObject({
  listen: z
    .string()
    .regex(/^(\[[0-9a-fA-F:]+\]|[^\s:[\]]+):\d{1,5}$/, 'must be host:port, such as 127.0.0.1:4290')
    .optional()
    .describe(
      "host:port on loopback of the agents' gateway, an OpenAI-compatible API whose rollouts are trained on",
    ),
  strict: z
    .boolean()
    .default(false)
    .describe(
      'refuse requests for what the node does not grant, such as another temperature, instead of ignoring that',
    ),
  rollout_seconds: z
    .number()
    .min(1)
    .max(86_400)
    .default(600)
    .describe("seconds after which an agent's rollout without a reward is dropped"),
  max_tokens: z
    .int()
    .min(0)
    .max(1_048_576)
    .default(0)
    .describe(
      "maximum tokens of an agent's conversation, prompt and answer together, up to the model's context; 0: as many as memory allows",
    ),
  max_open: z.int().min(1).max(10_000).default(256).describe("agents' rollouts open at a time"),
})
