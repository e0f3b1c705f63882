// What an engine's thread serves: the calls of the contract (`engine.ts`), seen from inside the thread. Each engine
// implements it in its own `core.ts`; `worker.ts` serves it, and `thread.ts` is what the daemon's thread holds.

import type { Weights } from './decoder.ts'
import type {
  DescentReport,
  DescentRequest,
  DrawnToken,
  GenerateRequest,
  GradientReport,
  GradientRequest,
  OpenRequest,
  OptimizerState,
  Sample,
  Score,
  ScoreRequest,
  TrainReport,
  TrainRequest,
} from './engine.ts'

/** A caller's say in a `generate` that runs. */
export interface Steering {
  /** Asked between steps. */
  isAborted?: () => boolean
  /** Samples that were cut since it was last asked, which is between steps. */
  newCuts?: () => readonly number[]
  /** Awaited between steps: weights may be others after it, which it then says. */
  takeWeights?: () => Promise<boolean>
  onToken?: ((drawn: DrawnToken) => void) | undefined
  onFinish?: ((sample: number, written: Sample) => void) | undefined
}

export interface Core {
  open(request: OpenRequest): Promise<void>
  generate(request: GenerateRequest, steering?: Steering): Promise<Sample[]>
  score(request: ScoreRequest): Promise<Score[]>
  train(request: TrainRequest): Promise<TrainReport>
  gradient(request: GradientRequest): Promise<GradientReport>
  keep(request: { to: 'main' | 'side'; scale: number }): Promise<void>
  descend(request: DescentRequest): Promise<DescentReport>
  /** A copy, which the caller may keep or transfer. */
  weights(): Weights | Promise<Weights>
  setWeights(weights: Weights, version?: number): void | Promise<void>
  optimizer(): OptimizerState | Promise<OptimizerState>
  close(): Promise<void>
}
