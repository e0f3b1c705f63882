// The sections [control] and [agents]: what the node serves to programs.

import { z } from 'zod'

export const control = z.strictObject({
  listen: z
    .string()
    .regex(/^(\[[0-9a-fA-F:]+\]|[^\s:[\]]+):\d{1,5}$/, 'must be host:port, such as 127.0.0.1:4190')
    .optional()
    .describe(
      'host:port on which to serve the control API and /metrics over TCP, with tokens; if unset, only the unix socket is used',
    ),
  public: z
    .boolean()
    .default(false)
    .describe(
      'allow control.listen on an address that other machines can reach; the connection is not encrypted',
    ),
})

export const agents = z.strictObject({
  listen: z
    .string()
    .regex(/^(\[[0-9a-fA-F:]+\]|[^\s:[\]]+):\d{1,5}$/, 'must be host:port, such as 127.0.0.1:4290')
    .optional()
    .describe(
      "host:port on loopback for the agents' gateway, an OpenAI-compatible API whose rollouts are trained on; if unset, there is none",
    ),
  strict: z
    .boolean()
    .default(false)
    .describe(
      'refuse requests with wishes that the node does not grant, such as another temperature; otherwise they are ignored, with a header x-waggle-ignored',
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
  max_open: z
    .int()
    .min(1)
    .max(10_000)
    .default(256)
    .describe("maximum number of agents' rollouts open at a time"),
})
