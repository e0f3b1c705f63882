// An engine on a device that may fail. If it does, the CPU continues from the last good step, and the node is notified.
//
// The failing device is first asked for its state. A device that is gone cannot answer, so this engine keeps the
// weights whenever they pass through it, which happens after each update, and copies the moments at intervals.

import type { Control, Engine, OptimizerState } from '../engine.ts'
import { troubleOf } from '../onnx/runtime/failure.ts'
import type { OpenRequest } from '../opening.ts'
import { createAttempts } from '../thread/attempts.ts'
import type { Weights } from '../weights.ts'

/** How long a failing device may take to return its state. */
const HAND_OVER_MS = 20_000

interface SteadyOptions {
  engine: Engine
  /** Creates the engine that takes over, given the reason. */
  spare: (why: string) => Engine
  onNotice?: ((message: string) => void) | undefined
  /** Number of steps between copies of the moments to the host. */
  rememberEvery?: number
}

export function createSteadyEngine({
  engine: first,
  spare,
  onNotice,
  rememberEvery = 20,
}: SteadyOptions): Engine {
  let engine = first
  const kept = createKept()
  let replacing: Promise<void> | undefined

  const replace = async (cause: unknown): Promise<void> => {
    const failed = engine
    const { device } = failed.info
    const reason = cause instanceof Error ? cause.message : String(cause)
    let handedOver = false
    await within(HAND_OVER_MS, async () => {
      const weights = await failed.weights()
      kept.remember(weights, kept.steps > 0 ? await failed.optimizer() : undefined)
      handedOver = true
    })
    const lost = handedOver ? 0 : kept.forgotten
    const next = spare(`${device} failed: ${reason}`)
    if (kept.model) await next.open(kept.model)
    engine = next
    onNotice?.(
      `${device} failed, the CPU goes on${lost > 0 ? `; the optimizer's moments are those of ${lost} steps ago` : ''}: ${reason}`,
    )
    // Not awaited: a broken device may never answer.
    failed.close().catch(() => {})
  }

  const steady = async <T>(call: (engine: Engine) => Promise<T>): Promise<T> => {
    await replacing
    const used = engine
    try {
      return await call(used)
    } catch (error) {
      if (troubleOf(error) === undefined) throw error
      if (used === engine && used !== first) throw error
      if (used === engine) {
        replacing ??= replace(error).finally(() => {
          replacing = undefined
        })
        await replacing
      }
      return call(engine)
    }
  }
  const stepped = async (): Promise<void> => {
    kept.step()
    if (engine === first && kept.forgotten >= rememberEvery) {
      // If the device fails here, the next call will notice.
      await Promise.all([engine.weights(), engine.optimizer()]).then(
        ([weights, optimizer]) => kept.remember(weights, optimizer),
        () => {},
      )
    }
  }

  return {
    get info() {
      return engine.info
    },
    async open(request) {
      kept.open(request)
      await steady((engine) => engine.open(request))
    },
    generate(request, { signal, control, ...tell } = {}) {
      const next = createAttempts(request, tell)
      return steady(async (engine) => {
        const { request: rest, indicesOf, joined, onToken, onFinish } = next()
        const options = {
          onFinish,
          ...(onToken ? { onToken } : {}),
          // Begins again after a failure; whoever shows it keeps the largest count.
          ...(tell.onDrawn ? { onDrawn: tell.onDrawn } : {}),
          ...(signal ? { signal } : {}),
          ...(control ? { control: placed(control, indicesOf) } : {}),
        }
        return joined(await engine.generate(rest, options))
      })
    },
    score: (request) => steady((engine) => engine.score(request)),
    async train(request) {
      const report = await steady((engine) => engine.train(request))
      if (report.applied) await stepped()
      return report
    },
    gradient: (request) => steady((engine) => engine.gradient(request)),
    // Vectors are not transferred. There are none in the engine that takes over, so this step is lost.
    vectors: () => steady((engine) => engine.vectors()),
    combine: (request) => steady((engine) => engine.combine(request)),
    dot: (request) => steady((engine) => engine.dot(request)),
    norm: (request) => steady((engine) => engine.norm(request)),
    async step(request) {
      const report = await steady((engine) => engine.step(request))
      if (report.applied) await stepped()
      return report
    },
    async weights() {
      const weights = await steady((engine) => engine.weights())
      if (engine === first) kept.remember(weights)
      return weights
    },
    async setWeights(weights: Weights, version?: number, options?: { isInFlight?: boolean }) {
      await steady((engine) => engine.setWeights(weights, version, options))
      kept.remember(weights, undefined, version)
    },
    optimizer: () => steady((engine) => engine.optimizer()),
    processorSeconds: () => steady((engine) => engine.processorSeconds()),
    close: () => engine.close(),
  }
}

/** What the engine that takes over is opened with. */
function createKept() {
  let model: OpenRequest | undefined
  /** Optimizer steps since `open`, and how many of them the remembered moments include. */
  let steps = 0
  let remembered = 0
  return {
    get model() {
      return model
    },
    get steps() {
      return steps
    },
    /** Steps that the remembered moments do not include. */
    get forgotten() {
      return steps - remembered
    },
    open(request: OpenRequest): void {
      model = request
      steps = 0
      remembered = 0
    },
    step(): void {
      steps += 1
    },
    remember(weights: Weights, optimizer?: OptimizerState, version?: number): void {
      if (!model) return
      // Only `open` brings the frozen weights.
      model = {
        ...model,
        weights: { ...model.weights, ...weights },
        ...(optimizer ? { optimizer } : {}),
        ...(version === undefined ? {} : { version }),
      }
      if (optimizer) remembered = steps
    },
  }
}

/** The same control, with sample indices mapped by `indicesOf`. */
function placed({ listen, cut }: Control, indicesOf: (samples: readonly number[]) => number[]): Control {
  return { cut, listen: (onCut) => listen((samples) => onCut(indicesOf(samples))) }
}

/** Waits at most this long. The caller has to check whether the work has finished. */
async function within(ms: number, run: () => Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const deadline = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms)
  })
  await Promise.race([run().catch(() => {}), deadline])
  clearTimeout(timer)
}
