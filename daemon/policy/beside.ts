// Other weights of the policy's model beside it, such as those it began with or a checkpoint's: one further engine,
// opened when it is first asked, that holds one of them at a time. It ends when nobody has asked for a while.

import type { GenerateOptions, GenerateRequest, Sample, Sampler } from '../engine/engine.ts'
import type { Weights } from '../engine/weights.ts'

interface BesideParts {
  /** Opens the engine with any weights of the model. Throws if there is no memory for it. */
  open(): Promise<Pick<Sampler, 'generate' | 'setWeights' | 'close'>>
  /** The trained tensors under a name. */
  weightsOf(name: string): Promise<Weights>
  after(ms: number, run: () => void): () => void
}

export interface Beside {
  /** Writes with the weights of this name. */
  of(name: string): Pick<Sampler, 'generate'>
  close(): Promise<void>
}

/** The engine ends so long after its last call. */
const IDLE_MS = 10 * 60_000

export function createBeside({ open, weightsOf, after }: BesideParts): Beside {
  let engine: Awaited<ReturnType<BesideParts['open']>> | undefined
  let held: string | undefined
  let running = 0
  let cancel = (): void => {}
  /** The engine serves its calls in order, so weights have to reach it in the order of the calls, too. */
  let turn: Promise<unknown> = Promise.resolve()

  const end = async (): Promise<void> => {
    const [before] = [engine]
    engine = undefined
    held = undefined
    await before?.close()
  }
  const begin = async (
    name: string,
    request: GenerateRequest,
    options: GenerateOptions | undefined,
  ): Promise<{ done: Promise<Sample[]> }> => {
    engine ??= await open()
    if (held !== name) {
      held = undefined
      await engine.setWeights(await weightsOf(name))
      held = name
    }
    // Weights of an interactive call may change while it runs.
    return { done: engine.generate({ ...request, isInteractive: false }, options) }
  }

  return {
    of: (name) => ({
      async generate(request, options) {
        cancel()
        running += 1
        const begun = turn.catch(() => {}).then(() => begin(name, request, options))
        turn = begun
        try {
          return await (await begun).done
        } finally {
          running -= 1
          if (running === 0)
            cancel = after(IDLE_MS, () => {
              turn = turn.catch(() => {}).then(() => (running === 0 ? end() : undefined))
            })
        }
      },
    }),
    async close() {
      cancel()
      await turn.catch(() => {})
      await end()
    },
  }
}
