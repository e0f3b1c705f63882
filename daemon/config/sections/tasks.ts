// The sections [[tasks]] and [[environments]]: what the node trains on.

import { z } from 'zod'
import { plugin } from './plugin.ts'

const TASK_NAME = /^[a-z][a-z0-9_]{0,63}$/

/** Name of a field in a dataset's rows. */
const field = z.string().min(1).max(256).optional()

export const task = z.strictObject({
  name: z
    .string()
    .regex(TASK_NAME, 'must be a task name: a-z, 0-9 and _')
    .describe("the task's name; for a dataset, one of your choice"),
  use: z
    .string()
    .regex(/[./\\]/, 'must be the path of a file, such as ./task.ts')
    .optional()
    .describe('file of a task or environment of your own, such as ./task.ts'),
  difficulty: z.int().min(0).max(1000).optional().describe("if unset, the task's default"),
  examples: z
    .int()
    .min(0)
    .max(8)
    .optional()
    .describe('solved examples before each question, as earlier turns; not for tasks with turns'),
  dataset: z
    .string()
    .min(1)
    .optional()
    .describe(
      'your questions: *.jsonl, *.csv, *.tsv, *.parquet, a folder of such files, or hf://datasets/org/name[@revision]',
    ),
  subset: z
    .string()
    .min(1)
    .max(256)
    .optional()
    .describe('of a dataset on the hub: its subset, also called config'),
  split: z.string().min(1).max(256).optional().describe('of a dataset on the hub; if unset, train'),
  fields: z
    .strictObject({
      prompt: field.describe('the question, or a list of chat messages'),
      answer: field.describe(
        'the answer; for a chat that ends with the answer, the same field as the prompt',
      ),
      difficulty: field,
      verifier: field,
      choices: field,
      id: field,
      answer_after: z.string().min(1).max(64).optional(),
    })
    .optional()
    .describe(
      'names of a dataset\'s fields, such as { prompt = "question" }, with dots for nested ones; `answer_after = "####"`: the answer is the text after that mark',
    ),
  verifier: z
    .union([z.string().min(1), plugin])
    .optional()
    .describe(
      'verifier of rows that name none: a name below, or the path of a file; with settings, a table with "use"',
    ),
})

export const environment = z.strictObject({
  name: z
    .string()
    .regex(TASK_NAME, 'must be a name: a-z, 0-9 and _')
    .describe('a name of your choice, for its rewards'),
  use: z.enum(['openenv', 'nemo-gym']).describe("the server's protocol: openenv or nemo-gym"),
  url: z
    .url({ protocol: /^https?$/, message: 'must be a URL, such as http://127.0.0.1:8000' })
    .describe("the server's address, such as http://127.0.0.1:8000"),
  prompt: z
    .string()
    .min(1)
    .max(8192)
    .optional()
    .describe('text before the first observation: what to do and how to answer'),
  action: z
    .string()
    .min(1)
    .max(128)
    .optional()
    .describe(
      "for openenv: the action's field for the answer; if unset, the only one, or the answer is a JSON object",
    ),
  observation: z
    .string()
    .min(1)
    .max(128)
    .optional()
    .describe("for openenv: the observation's field for the model; if unset, its only text, or all as JSON"),
  dataset: z.string().min(1).optional().describe("for nemo-gym: file of JSON lines with the server's rows"),
  turns: z.int().min(1).max(64).default(16).describe('maximum answers of an episode'),
  sessions: z.int().min(1).max(64).default(8).describe('episodes side by side'),
  step_seconds: z
    .number()
    .min(0.1)
    .max(3600)
    .default(60)
    .describe('longest wait for a reply; then the episode is played again'),
})
