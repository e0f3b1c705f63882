// The sections [model], [engine] and [sampler]: what the node runs.

import { z } from 'zod'

export const model = z.strictObject({
  path: z
    .string()
    .min(1)
    .default('default')
    .describe(
      'a folder, a GGUF file, org/name or org/name@revision on the hub, or "default", the included model; if unset, that of the newest checkpoint',
    ),
  max_completion_tokens: z.int().min(1).max(32_768).default(96).describe('maximum tokens of a completion'),
  stop: z
    .array(z.string().min(1).max(64))
    .max(8)
    .optional()
    .describe('texts that end a completion; if unset, "</answer>" for a model without a chat template'),
})

export const engine = z.strictObject({
  kind: z.enum(['onnx', 'tfjs']).default('onnx').describe('the engine that samples and trains'),
  device: z
    .enum(['auto', 'cpu', 'webgpu', 'cuda', 'dml', 'coreml'])
    .default('auto')
    .describe('the device; "auto" is the fastest that works'),
  precision: z
    .enum(['auto', 'float32', 'float16'])
    .default('float32')
    .describe('precision of matrix products in training; "auto" is float16 where it works and is faster'),
  base_precision: z
    .enum(['auto', 'f32', 'f16', 'q8', 'q4'])
    .default('auto')
    .describe('precision of frozen weights under an adapter; "auto" is f32 if it fits, else as in the file'),
  sampling_precision: z
    .enum(['int8', 'float32'])
    .default('int8')
    .describe(
      'precision of activations times weights of 4 or 8 bits, while sampling on the CPU; int8 is up to twice as fast and changes log-probs by hundredths',
    ),
  threads: z
    .int()
    .min(0)
    .max(1024)
    .default(0)
    .describe('CPU threads; 0 is one per core; with one, sampler and trainer take turns'),
  memory_gb: z
    .number()
    .min(0)
    .max(65_536)
    .default(0)
    .describe("GB of memory; 0 is 85 % of what is free, within the container's limit"),
  micro_batch_tokens: z
    .int()
    .min(0)
    .max(1_048_576)
    .default(0)
    .describe('tokens per micro-batch; 0 is as many as fit, up to 2048'),
})

export const sampler = z.strictObject({
  kind: z
    .enum(['engine', 'node-llama-cpp', 'vllm', 'sglang', 'llama-server'])
    .default('engine')
    .describe(
      "what writes rollouts: the node's engine, the package node-llama-cpp, or a server; all but the engine need LoRA",
    ),
  url: z
    .string()
    .regex(
      /^https?:\/\/[^\s@?#]+$/,
      'must be an http or https address without a key, such as http://127.0.0.1:8000',
    )
    .max(512)
    .optional()
    .describe('address of the server'),
  key_variable: z
    .string()
    .regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/, 'must be the name of an environment variable')
    .optional()
    .describe("environment variable with the server's key"),
  model: z
    .string()
    .min(1)
    .optional()
    .describe('for node-llama-cpp: GGUF file of the same model; if unset, model.path'),
  adapter_every: z
    .int()
    .min(1)
    .max(10_000)
    .default(1)
    .describe('policy versions between adapters that the sampler loads'),
  adapters: z
    .string()
    .min(1)
    .optional()
    .describe('folder for adapters, which the server must see under the same path'),
  restart: z
    .array(z.string().max(4096))
    .min(1)
    .max(64)
    .optional()
    .describe("for llama-server: command that restarts it with `--lora`; the adapter's path is added"),
  tolerance: z
    .number()
    .gt(0)
    .max(10)
    .default(0.15)
    .describe('largest mean difference of log-probs in the self-test, in nats'),
  parallel: z.int().min(1).max(4096).default(32).describe('sequences written side by side'),
})
