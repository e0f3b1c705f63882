// A recipe: settings under which a model was seen to learn a task, with what each recorded run reached.

import type { RecipeLook } from '../../../protocol/api/index.ts'

export interface Recipe {
  /** One line: which model learns what. */
  summary: string
  /** Which file to give as the model, and where it comes from; undefined for the bundled model. */
  model?: string
  /** Parameters of the model of the recorded runs. A run with another model is not compared. */
  parameters: number
  /** Config path -> value. Where a recipe is named, these override the defaults and presets; the config file overrides them. */
  values: Readonly<Record<string, unknown>>
  /** The program to start beside the node, which asks, rewards and looks; undefined where the node does it. */
  agent?: string
  /** What the runs reached, from the records. */
  looks: readonly RecipeLook[]
  /** Greedy accuracy of each run at the last look, 0 to 1. Agents are asked sampled answers alone. */
  greedy: readonly number[]
  /** Processor seconds of the runs to the last look, the node's own evaluations included. */
  processorSeconds: readonly number[]
  /** Peak memory of one run on one core, made later than the others with newer code, bytes. */
  peakBytes?: number
  /** The command that made the records, and their file. Undefined for a recipe that we have not run. */
  recorded?: { command: string; file: string }
}
