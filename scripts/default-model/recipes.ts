// Recipes of the made models: tasks, their shares of the examples, steps, tokenizer.
//
// `nine` is the default model: part of each of SAPO's nine tasks (arXiv:2509.08721), and enough of the two
// environments to play by their rules. `three` is the start of most experiments and some tests: it knows the three
// tasks that a fresh node learns, and it never changes, so that their figures can be reproduced.

import { SPLITS, type Split } from './tokenizer.ts'

interface TaskPart {
  /** Of the examples. */
  share: number
  /** Difficulties that examples are drawn from, each as often as it stands here. */
  drawn: readonly number[]
  /** The difficulty that the card's accuracy is of. */
  evaluated: number
}

/** Works it out and tags the answer, tags it at once, or works it out and states it without tags. */
export type Style = 'worked' | 'bare' | 'untagged'

export interface Recipe {
  folder: string
  /** The card's heading, and what the model is for. */
  title: string
  purpose: string
  /**
   * Each has a learning rate that rises to `rate` and falls as a cosine, an optimizer without a past, and examples of
   * its own stream.
   */
  cycles: readonly { steps: number; rate: number }[]
  /** Examples of a step. */
  batch: number
  /** Most entries of the vocabulary. */
  pieces: number
  split: Split
  /** Of the answers to tasks with one turn. */
  styles: Readonly<Record<Style, number>>
  /** Of the plays of tasks with turns, how many go the best way. */
  won: number
  tasks: Readonly<Record<string, TaskPart>>
}

export const RECIPES = {
  nine: {
    folder: 'models/default',
    title: "Waggle's default model",
    purpose:
      'made from nothing so that a fresh checkout has something real to train.\nIt can do a part of each built-in task; reinforcement learning does the rest.',
    cycles: [
      { steps: 1000, rate: 4e-3 },
      { steps: 700, rate: 3e-3 },
    ],
    batch: 128,
    pieces: 512,
    split: SPLITS.digitsWithSpace,
    // Tags are likelier than none once an answer is worked out, so that the greedy answer shows what the model can do.
    styles: { worked: 0.45, bare: 0.2, untagged: 0.35 },
    won: 0.3,
    tasks: {
      basic_arithmetic: { share: 0.14, drawn: [0, 1, 1, 1], evaluated: 1 },
      base_conversion: { share: 0.14, drawn: [0, 1, 1, 1], evaluated: 1 },
      fraction_simplification: { share: 0.14, drawn: [0, 1, 1, 1], evaluated: 1 },
      decimal_arithmetic: { share: 0.1, drawn: [0, 0, 1], evaluated: 0 },
      calendar_arithmetic: { share: 0.08, drawn: [0, 0, 1], evaluated: 0 },
      binary_matrix: { share: 0.1, drawn: [0, 0, 1], evaluated: 0 },
      bf: { share: 0.08, drawn: [0, 0, 1], evaluated: 0 },
      propositional_logic: { share: 0.09, drawn: [0, 0, 1], evaluated: 0 },
      arc_1d: { share: 0.09, drawn: [0, 0, 1], evaluated: 0 },
      frozen_lake: { share: 0.02, drawn: [0], evaluated: 0 },
      keys_and_doors: { share: 0.02, drawn: [0], evaluated: 0 },
    },
  },
  three: {
    folder: 'models/three-tasks',
    title: 'A model of three tasks',
    purpose: 'which most experiments and some tests start from, so that\ntheir figures can be had again.',
    cycles: [
      { steps: 600, rate: 4e-3 },
      { steps: 500, rate: 3e-3 },
    ],
    batch: 128,
    pieces: 384,
    split: SPLITS.digitsAlone,
    styles: { worked: 0.4, bare: 0.2, untagged: 0.4 },
    won: 0,
    tasks: {
      basic_arithmetic: { share: 0.45, drawn: [0, 1, 1, 1], evaluated: 1 },
      base_conversion: { share: 0.25, drawn: [0, 1, 1, 1], evaluated: 0 },
      fraction_simplification: { share: 0.3, drawn: [0, 1, 1, 1], evaluated: 1 },
    },
  },
} satisfies Record<string, Recipe>

export type RecipeName = keyof typeof RECIPES
