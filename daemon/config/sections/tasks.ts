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
    .describe('the name of the task; for a dataset, a name of your choice'),
  use: z
    .string()
    .regex(/[./\\]/, 'must be the path of a file, such as ./task.ts')
    .optional()
    .describe(
      'the file of a task or an environment of your own, such as ./task.ts; `name` is the name that it has',
    ),
  difficulty: z.int().min(0).max(1000).optional().describe("if unset, the task's default"),
  examples: z
    .int()
    .min(0)
    .max(8)
    .optional()
    .describe(
      'how many solved examples to put before each question, as earlier turns of the chat; 0 if unset. A small model that seldom writes answer tags learns the form from one. Tasks with turns have none',
    ),
  dataset: z
    .string()
    .min(1)
    .optional()
    .describe(
      'your own questions: a file of JSON lines (*.jsonl), a table (*.csv, *.tsv), or a folder of such files',
    ),
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
      'for a dataset whose rows use other field names: which field is `prompt`, `answer`, `difficulty`, `verifier`, `choices` or `id`, such as { prompt = "question" }. Dots address nested fields; other fields are ignored. `answer_after = "####"` takes the text after that mark as the answer',
    ),
  verifier: z
    .union([z.string().min(1), plugin])
    .optional()
    .describe(
      'for a dataset, the verifier of rows that do not name one: exact, numeric, choice, set, regex, fraction or expression, or the path of a file with your own verifier, such as ./verifier.ts. To pass settings, use a table with "use"',
    ),
})

export const environment = z.strictObject({
  name: z
    .string()
    .regex(TASK_NAME, 'must be a name: a-z, 0-9 and _')
    .describe('a name of your choice, under which its rewards are shown'),
  use: z.enum(['openenv', 'nemo-gym']).describe('the protocol that its server speaks: openenv or nemo-gym'),
  url: z
    .url({ protocol: /^https?$/, message: 'must be a URL, such as http://127.0.0.1:8000' })
    .describe("the server's address, such as http://127.0.0.1:8000"),
  prompt: z
    .string()
    .min(1)
    .max(8192)
    .optional()
    .describe(
      'text that the model gets before what the environment shows first, or a row says first as a user: what to do and how to answer',
    ),
  action: z
    .string()
    .min(1)
    .max(128)
    .optional()
    .describe(
      'for openenv: the field of an action that takes the answer. If unset: the only required field, or the only one; if there are several, the answer must be a JSON object',
    ),
  observation: z
    .string()
    .min(1)
    .max(128)
    .optional()
    .describe(
      'for openenv: the field of an observation that the model sees. If unset: the only text in it, or all of it as JSON',
    ),
  dataset: z
    .string()
    .min(1)
    .optional()
    .describe(
      'for nemo-gym: the file of JSON lines that holds the rows of this server, each with `responses_create_params`',
    ),
  turns: z.int().min(1).max(64).default(16).describe('maximum number of answers of an episode'),
  sessions: z.int().min(1).max(64).default(8).describe('episodes that are played side by side, at most'),
  step_seconds: z
    .number()
    .min(0.1)
    .max(3600)
    .default(60)
    .describe('longest wait for a reply; then the episode is dropped and played again'),
})
