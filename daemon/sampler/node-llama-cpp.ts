// Writes with llama.cpp through the npm package node-llama-cpp, an optional peer dependency that brings binaries for
// the CPU, CUDA, Metal and Vulkan. The base is a GGUF file; adapters are LoRA files, as for `llama-server --lora`.

import { WaggleError } from '../../protocol/errors.ts'
import type { EngineInfo } from '../engine/opening.ts'
import type { BackEnd, Line, LoadedAdapter, WriteOptions } from './back-end.ts'

/** The part of the package that is used. Checked against version 3.22. */
interface Package {
  getLlama(options: object): Promise<Llama>
}
interface Llama {
  readonly gpu: string | false
  loadModel(options: object): Promise<LlamaModel>
  dispose(): Promise<void>
}
interface LlamaModel {
  tokenize(text: string, specialTokens: boolean): number[]
  createContext(options: object): Promise<LlamaContext>
  dispose(): Promise<void>
}
interface LlamaContext {
  getSequence(): LlamaSequence
  dispose(): Promise<void>
}
interface LlamaSequence {
  evaluateWithMetadata(
    tokens: number[],
    metadata: object,
    options: object,
  ): AsyncGenerator<{ token: number; confidence: number }, void>
  dispose(): Promise<void>
}

interface LlamaCppOptions {
  /** The GGUF file of the model. */
  file: string
  /** Sequences decoded side by side. */
  parallel: number
  /** CPU threads. */
  threads: number
}

const PACKAGE = 'node-llama-cpp'
const VERSION = '3.22'
/** llama.cpp frees adapters only together with their model, so the model is reloaded after this many adapters. */
const ADAPTERS_PER_MODEL = 32
/** Context sizes are multiples of this many tokens, so that few different sizes occur. */
const CONTEXT_STEP = 256
/** Turns off everything that would change the distribution; the package's defaults do not. */
const WHOLE_DISTRIBUTION = { topK: 0, topP: 1, minP: 0, repeatPenalty: false }

interface Loaded {
  model: LlamaModel
  adapters: number
  users: number
}

/** `load` imports the package. */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: short methods over one loaded model.
export function createLlamaCpp(
  { file, parallel, threads }: LlamaCppOptions,
  { load = () => import(PACKAGE) as Promise<unknown> }: { load?: () => Promise<unknown> } = {},
): BackEnd {
  const info: EngineInfo = { kind: PACKAGE, device: 'unknown', reason: 'sampler.kind names it', threads }
  let llama: Llama | undefined
  let current: Loaded | undefined
  /** One call at a time, because each has a context of its own size. */
  let turn: Promise<unknown> = Promise.resolve()

  const openModel = async (): Promise<Loaded> => {
    try {
      return {
        model: await llama!.loadModel({ modelPath: file, useMmap: true }),
        adapters: 0,
        users: 0,
      }
    } catch (cause) {
      throw failed(`llama.cpp cannot load ${file}`, cause, 'It must be a GGUF file that llama.cpp supports.')
    }
  }
  const retire = async (loaded: Loaded): Promise<void> => {
    if (loaded !== current && loaded.users === 0) await loaded.model.dispose()
  }

  const adapterOf = (loaded: Loaded, path: string): LoadedAdapter => {
    let room: { context: LlamaContext; sequences: number; tokens: number } | undefined
    const contextFor = async (sequences: number, tokens: number): Promise<LlamaContext> => {
      if (room && room.sequences >= sequences && room.tokens >= tokens) return room.context
      const before = room
      room = undefined
      await before?.context.dispose()
      try {
        const context = await loaded.model.createContext({
          sequences,
          contextSize: tokens,
          threads,
          lora: { adapters: [{ filePath: path, scale: 1 }] },
        })
        room = { context, sequences, tokens }
        return context
      } catch (cause) {
        throw failed(
          `llama.cpp cannot prepare ${sequences} sequences of ${tokens} tokens with the adapter ${path}`,
          cause,
          'If memory is short, lower sampler.parallel or model.max_completion_tokens.',
        )
      }
    }
    const writeAll = async (lines: readonly Line[], { temperature }: WriteOptions): Promise<void> => {
      const waiting = lines.filter(({ signal }) => !signal.aborted)
      if (waiting.length === 0) return
      const longest = Math.max(...waiting.map(({ prompt, maxNewTokens }) => prompt.length + maxNewTokens))
      const sequences = Math.min(parallel, waiting.length)
      const tokens = Math.ceil((longest + 1) / CONTEXT_STEP) * CONTEXT_STEP
      const context = await contextFor(sequences, tokens)
      const writeOne = async (line: Line): Promise<void> => {
        const sequence = context.getSequence()
        try {
          const drawn = sequence.evaluateWithMetadata(
            [...line.prompt],
            { confidence: true },
            { ...WHOLE_DISTRIBUTION, temperature, seed: line.seed, yieldEogToken: true },
          )
          for await (const { token, confidence } of drawn)
            if (line.signal.aborted || line.take(token, Math.log(confidence))) break
        } finally {
          await sequence.dispose()
        }
      }
      const work = async (): Promise<void> => {
        for (let line = waiting.shift(); line; line = waiting.shift())
          if (!line.signal.aborted) await writeOne(line)
      }
      await Promise.all(Array.from({ length: sequences }, work))
    }
    return {
      async write(lines, options) {
        const done = turn.catch(() => {}).then(() => writeAll(lines, options))
        turn = done
        try {
          await done
        } catch (cause) {
          if (cause instanceof WaggleError) throw cause
          throw failed('llama.cpp failed while writing', cause, 'The node tries again.')
        }
      },
      async release() {
        await turn.catch(() => {})
        await room?.context.dispose()
        room = undefined
        loaded.users -= 1
        await retire(loaded)
      },
    }
  }

  return {
    info,
    format: 'gguf',
    async open() {
      const { getLlama } = (await load().catch((cause: unknown) => {
        throw new WaggleError('E_SAMPLER', `sampler.kind is "${PACKAGE}", but ${PACKAGE} is not installed`, {
          hint: `Run: npm install ${PACKAGE}@${VERSION}, in the folder where Waggle is installed.`,
          cause,
        })
      })) as Package
      try {
        llama = await getLlama({
          gpu: 'auto',
          // Only binaries that come with the package: nothing is downloaded or compiled.
          build: 'never',
          skipDownload: true,
          progressLogs: false,
          logLevel: 'error',
          maxThreads: threads,
        })
      } catch (cause) {
        throw failed(`${PACKAGE} does not start here`, cause, 'Try `npx node-llama-cpp inspect gpu`.')
      }
      info.device = llama.gpu || 'cpu'
      current = await openModel()
      return {}
    },
    encode: async (text) => current?.model.tokenize(text, true),
    async load({ path }) {
      if (current!.adapters >= ADAPTERS_PER_MODEL) {
        const before = current!
        current = await openModel()
        await retire(before)
      }
      current!.adapters += 1
      current!.users += 1
      return adapterOf(current!, path)
    },
    async close() {
      await turn.catch(() => {})
      await current?.model.dispose()
      await llama?.dispose()
    },
  }
}

function failed(what: string, cause: unknown, hint: string): WaggleError {
  const reason = cause instanceof Error ? cause.message : String(cause)
  return new WaggleError('E_SAMPLER', `${what}: ${reason}`, { hint, cause })
}
