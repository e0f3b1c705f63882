// Commands that use a model or a task without a node.

import type { Command } from '../command.ts'
import { MODEL_OPTIONS, SAMPLING } from './options.ts'

export const USE_MODEL: readonly Command[] = [
  {
    name: 'score',
    group: 'Steer',
    summary: "what a task's verifier says about an answer, or what a model says about tokens",
    details:
      'Works without a daemon. With a task: without an answer it prints the question and its key; `-` reads the answer from standard input; the answers of a task with turns have blanks between. With --ids, --text or --chat: one JSON object a line in, one with `logprobs` and `entropy` (nats, one for each scored token) a line out, in the same order. The first token of --ids and --text is given and not scored. A line that is wrong ends it, with its number.',
    arguments: [
      { name: 'task', summary: 'a task, such as basic_arithmetic' },
      { name: 'answer', summary: 'the whole completion' },
    ],
    options: [
      { name: 'seed', value: 'N', summary: 'which prompt, 0 by default' },
      { name: 'difficulty', value: 'N', summary: "the task's own default if left out" },
      {
        name: 'ids',
        value: 'FILE',
        summary: 'lines of {"ids": [...]}; `-` is standard input; the model needs no tokenizer',
      },
      {
        name: 'text',
        value: 'FILE',
        summary: 'lines of {"text": ...} or {"prompt": ..., "completion": ...}',
      },
      {
        name: 'chat',
        value: 'FILE',
        summary: 'lines of {"messages": [...]}, of which the last one is scored',
      },
      ...MODEL_OPTIONS,
    ],
    examples: [
      ["waggle score base_conversion --seed 7 '<answer>1f</answer>'", 'is it right?'],
      ['waggle score --model ./model --ids sequences.jsonl', 'log-probs of token ids'],
    ],
    load: () => import('../commands/score.ts'),
  },
  {
    name: 'generate',
    group: 'Steer',
    summary: 'what the model writes, once',
    details:
      'Works without a daemon. Without --model it is what this home has learned so far, from its newest checkpoint. A model with a chat template is asked; one without, or with --raw, goes on with the text.',
    arguments: [{ name: 'text', summary: 'the question; `-` reads it from standard input', required: true }],
    options: [{ name: 'raw', summary: 'go on with the text as it is' }, ...SAMPLING, ...MODEL_OPTIONS],
    examples: [["waggle generate 'What is 3 + 4?'", 'one answer, as it is drawn']],
    load: () => import('../commands/generate.ts'),
  },
  {
    name: 'chat',
    group: 'Steer',
    summary: 'talk with the model',
    details:
      'Works without a daemon. Without --model it is what this home has learned so far, from its newest checkpoint. Ctrl-C ends an answer, /new begins anew, Ctrl-D leaves.',
    options: [
      { name: 'system', value: 'TEXT', summary: 'what stands before the conversation' },
      ...SAMPLING,
      ...MODEL_OPTIONS,
    ],
    load: () => import('../commands/chat.ts'),
  },
  {
    name: 'export',
    group: 'Steer',
    summary: 'a run as a table, or the newest checkpoint for other tools',
    details:
      "model: the whole model in Hugging Face's layout, an adapter merged into it. adapter: the LoRA adapter by itself, as PEFT has it. Both with a card (README.md) that says what was trained, on what, and with what result.",
    arguments: [
      {
        name: 'what',
        summary: 'run, model or adapter',
        required: true,
        choices: ['run', 'model', 'adapter'],
      },
      {
        name: 'place',
        summary: 'run: a recorded run, or `last` (the default); model, adapter: a folder to write to',
      },
    ],
    options: [
      { name: 'format', value: 'FORMAT', summary: 'run: csv (the default) or jsonl' },
      { name: 'dtype', value: 'DTYPE', summary: 'model, adapter: f32 (the default), bf16 or f16' },
      { name: 'force', summary: 'model, adapter: overwrite what is in the folder' },
    ],
    examples: [
      ['waggle export run > run.csv', 'every number of every step'],
      ['waggle export model ./trained --dtype bf16', 'for any tool that loads such models'],
      ['waggle export adapter ./adapter', 'a few MB, to go on the model that it was trained on'],
    ],
    load: () => import('../commands/export.ts'),
  },
]
