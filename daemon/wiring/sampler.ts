// Creates an external sampler from the config. Everything that the config alone shows is checked before any request to
// a server.

import { execFile } from 'node:child_process'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { WaggleError } from '../../protocol/errors.ts'
import type { Paths } from '../config/paths.ts'
import type { Config } from '../config/schema.ts'
import type { AdapterSpec } from '../engine/decoder.ts'
import type { Sampler, Trainer } from '../engine/engine.ts'
import type { StoredModel } from '../policy/model.ts'
import { type BackEnd, createAdapterFiles, createExternalSampler } from '../sampler/index.ts'
import type { Disk } from '../store/disk.ts'

interface SamplerWish {
  config: Config
  paths: Pick<Paths, 'config' | 'state'>
  model: StoredModel
  adapter: AdapterSpec | undefined
  /** CPU threads for a sampler on this machine. */
  threads: number
  seed: number
  /** Of this run, and of no other on the same server. */
  run: string
  env: Record<string, string | undefined>
}

interface SamplerParts {
  trainer: Pick<Trainer, 'score' | 'setWeights'>
  disk: Disk
  fetch: typeof globalThis.fetch
  sleep(ms: number, signal: AbortSignal): Promise<void>
  onNotice(message: string): void
}

/** Time limit for a command that restarts a server. */
const RESTART_MS = 120_000

/** Rejects with E_CONFIG if parts of the config do not fit together. */
export async function externalSampler(
  { config, paths, model, adapter, threads, seed, run, env }: SamplerWish,
  { trainer, disk, fetch, sleep, onNotice }: SamplerParts,
): Promise<Sampler> {
  const { sampler } = config
  const { directory } = model
  checkSampler({ config, paths, directory, trainsAdapter: adapter !== undefined, env })
  const folder =
    sampler.adapters === undefined ? join(paths.state, 'sampler') : atConfig(paths, sampler.adapters)
  const backEnd = await backEndOf()
  const spec = { ...model.spec, adapter: adapter! }
  return createExternalSampler(
    { every: sampler.adapter_every, tolerance: sampler.tolerance, tokenizer: model.tokenizer, seed, run },
    {
      backEnd,
      files: createAdapterFiles({ folder, format: backEnd.format, model, spec }, { disk }),
      trainer,
      onNotice,
    },
  )

  async function backEndOf(): Promise<BackEnd> {
    const { parallel } = sampler
    if (sampler.kind === 'node-llama-cpp') {
      const { createLlamaCpp } = await import('../sampler/node-llama-cpp.ts')
      return createLlamaCpp({ file: ggufOf({ sampler, paths, directory }), parallel, threads })
    }
    const { createHttpBackEnd, createServer } = await import('../sampler/http/index.ts')
    const { url, key } = serverOf({ sampler, env })
    const server = createServer({ url, key }, { fetch, sleep })
    return createHttpBackEnd({ dialect: await dialectOf(), url, parallel }, { server })
  }

  async function dialectOf() {
    const { llamaServer, sglang, vllm } = await import('../sampler/http/index.ts')
    if (sampler.kind === 'vllm') return vllm
    if (sampler.kind === 'sglang') return sglang
    const [program, ...words] = restartOf(sampler)
    return llamaServer({
      sleep,
      async restart(path) {
        await promisify(execFile)(program, [...words, path], {
          cwd: dirname(paths.config),
          timeout: RESTART_MS,
        }).catch((cause: Error) => {
          throw new WaggleError('E_SAMPLER', `sampler.restart failed: ${cause.message.slice(0, 300)}`, {
            hint: 'Try the command by hand. It must return once the server is starting.',
            cause,
          })
        })
      },
    })
  }
}

interface Settings extends Pick<SamplerWish, 'config' | 'env'> {
  paths: Pick<Paths, 'config'>
  /** The model's folder or GGUF file; undefined if it is not known yet. */
  directory: string | undefined
  trainsAdapter: boolean
}

/** Throws E_CONFIG if an external sampler lacks a setting, or other settings do not go with it. */
export function checkSampler({ config, paths, directory, trainsAdapter, env }: Settings): void {
  const { sampler } = config
  if (sampler.kind === 'engine') return
  checkOthers(config, trainsAdapter)
  if (sampler.kind !== 'node-llama-cpp') serverOf({ sampler, env })
  else if ((sampler.model ?? directory) !== undefined) ggufOf({ sampler, paths, directory })
  if (sampler.kind === 'llama-server') restartOf(sampler)
}

function checkOthers({ sampler, rollout, training }: Config, trainsAdapter: boolean): void {
  if (rollout.temperature !== 1) {
    throw refused(
      `rollout.temperature is ${rollout.temperature}, and external samplers write at temperature 1`,
      'Set rollout.temperature = 1, or sampler.kind = "engine".',
    )
  }
  if (rollout.in_flight_weights) {
    throw refused(
      'rollout.in_flight_weights needs the own engine: an external sampler ends each rollout with the weights it began with',
      'Remove rollout.in_flight_weights, or set sampler.kind = "engine".',
    )
  }
  if (!trainsAdapter) {
    throw refused(
      'an external sampler gets new weights as a LoRA adapter, and this node trains all parameters',
      'Set training.method = "lora", in a new home.',
    )
  }
  if (sampler.adapter_every > training.max_staleness) {
    throw refused(
      `sampler.adapter_every is ${sampler.adapter_every} and training.max_staleness ${training.max_staleness}: rollouts would be dropped as stale before the next adapter`,
      'Lower sampler.adapter_every, or raise training.max_staleness.',
    )
  }
}

type Chosen = Pick<Config, 'sampler'>

/** Relative to the config file, like every path in it. */
const atConfig = (paths: Pick<Paths, 'config'>, path: string): string => resolve(dirname(paths.config), path)

function ggufOf({ sampler, paths, directory }: Chosen & Pick<Settings, 'paths' | 'directory'>): string {
  const file = sampler.model === undefined ? directory : atConfig(paths, sampler.model)
  if (file?.endsWith('.gguf')) return file
  throw refused(
    'sampler.kind = "node-llama-cpp" needs the model as a GGUF file',
    'Set sampler.model to a GGUF file of the same model, or model.path itself.',
  )
}

function serverOf({ sampler, env }: Chosen & Pick<Settings, 'env'>): {
  url: string
  key: string | undefined
} {
  const { kind, url, key_variable: variable } = sampler
  if (url === undefined)
    throw refused(
      `sampler.kind = "${kind}" needs sampler.url`,
      'For example sampler.url = "http://127.0.0.1:8000".',
    )
  const key = variable === undefined ? undefined : env[variable]
  if (variable !== undefined && !key) {
    throw refused(
      `the environment variable ${variable}, which sampler.key_variable names, is not set`,
      "Set it to the server's key, or remove sampler.key_variable.",
    )
  }
  return { url, key }
}

function restartOf({ restart }: Config['sampler']): readonly [string, ...string[]] {
  if (restart) return restart as [string, ...string[]]
  throw refused(
    'sampler.kind = "llama-server" needs sampler.restart: llama-server loads adapters only when it starts',
    'Set it to a command that restarts the server with the adapter of the file whose path is added at its end.',
  )
}

function refused(message: string, hint: string): WaggleError {
  return new WaggleError('E_CONFIG', message, { hint })
}
