// The sections [control], [screen], [serve] and [agents]: what the node serves to people and programs.

import { z } from 'zod'
import { hostPort } from './host-port.ts'
import { plugin } from './plugin.ts'

export const control = z.strictObject({
  listen: hostPort('127.0.0.1:4190')
    .optional()
    .describe('host:port of the control API and /metrics over TCP, with tokens'),
  public: z.boolean().default(false).describe('let other machines reach control.listen, unencrypted'),
})

export const screen = z.strictObject({
  theme: z
    .enum(['default', 'light', 'mono'])
    .default('default')
    .describe('colours of `waggle top`: light is for light backgrounds, mono has none'),
  mouse: z.boolean().default(true).describe('let the mouse act on `waggle top`; otherwise it selects text'),
})

export const serve = z.strictObject({
  listen: hostPort('127.0.0.1:4390').optional().describe('host:port at which the model answers programs'),
  public: z.boolean().default(false).describe('let other machines reach serve.listen, unencrypted'),
  origins: z
    .array(z.string().regex(/^https?:\/\/[^/\s]+$/, 'must be an origin, such as https://chat.example.org'))
    .max(64)
    .default([])
    .describe('origins of web pages that may use serve.listen'),
  max_calls: z.int().min(1).max(256).default(8).describe('calls answered at a time'),
  max_waiting: z.int().min(0).max(4096).default(64).describe('calls that may wait; further ones get 429'),
})

export const agents = z.strictObject({
  listen: hostPort('127.0.0.1:4290')
    .optional()
    .describe("host:port on loopback of the agents' gateway, whose rollouts are trained on"),
  strict: z
    .boolean()
    .default(false)
    .describe('refuse calls that ask for what the node does not grant, instead of ignoring that part'),
  rollout_seconds: z
    .number()
    .min(1)
    .max(86_400)
    .default(600)
    .describe('seconds until a rollout without a reward is dropped'),
  max_tokens: z
    .int()
    .min(0)
    .max(1_048_576)
    .default(0)
    .describe('maximum tokens of a conversation, prompt and answer together; 0: as many as memory allows'),
  max_open: z.int().min(1).max(10_000).default(256).describe('rollouts open at a time'),
  learn: z
    .enum(['off', 'feedback'])
    .default('off')
    .describe('feedback: keep served answers on this machine, and train on those that are rated'),
  verifier: z
    .union([z.string().min(1), plugin])
    .optional()
    .describe('file of a verifier; in idle time, kept prompts are asked again and scored by it'),
  keep_calls: z
    .int()
    .min(1)
    .max(100_000)
    .default(1000)
    .describe('served answers kept; first those that were learnt from go, then the oldest'),
  keep_days: z.number().gt(0).max(3650).default(30).describe('days that a served answer is kept'),
})
