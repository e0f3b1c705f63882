// Commands that use a model or a task without a node.

import type { Command } from '../contract.ts'
import { MODEL_OPTIONS, SAMPLING } from './options.ts'

export const USE_MODEL: readonly Command[] = [
  {
    name: 'score',
    group: 'Steer',
    summary: "score an answer with a task's verifier, or tokens with a model",
    details:
      'Needs no daemon. With a task: prints the question and its key, and scores the answer, if given (`-`: from standard input; several turns as several words). With --ids, --text or --chat: reads and writes a JSON object per line, with `logprobs` and `entropy` in nats for each scored token; the first token of --ids and --text is context. The default model is this home’s newest checkpoint.',
    arguments: [
      { name: 'task', summary: 'a task, such as basic_arithmetic' },
      { name: 'answer', summary: 'the completion to score' },
    ],
    options: [
      { name: 'seed', value: 'N', summary: 'seed of the prompt (default 0)' },
      {
        name: 'difficulty',
        value: 'N',
        summary: "difficulty of the prompt (default: this home's, else the task's)",
      },
      {
        name: 'ids',
        value: 'FILE',
        summary: 'lines of {"ids": [...]}; `-` is standard input; works without a tokenizer',
      },
      {
        name: 'text',
        value: 'FILE',
        summary: 'lines of {"text": ...} or {"prompt": ..., "completion": ...}',
      },
      {
        name: 'chat',
        value: 'FILE',
        summary: 'lines of {"messages": [...]}; the last message is scored',
      },
      ...MODEL_OPTIONS,
    ],
    examples: [
      ["waggle score base_conversion --seed 7 '<answer>1f</answer>'", 'score one answer'],
      ['waggle score --model ./model --ids sequences.jsonl', 'log-probs of token IDs'],
    ],
    load: () => import('../commands/use-model/score.ts'),
  },
  {
    name: 'generate',
    group: 'Steer',
    summary: 'write one completion',
    details:
      'Needs no daemon. The default model is this home’s newest checkpoint. A model with a chat template answers the text; without one, or with --raw, it continues it.',
    arguments: [{ name: 'text', summary: 'the prompt; `-` reads it from standard input', required: true }],
    options: [
      { name: 'raw', summary: 'continue the text without the chat template' },
      ...SAMPLING,
      ...MODEL_OPTIONS,
    ],
    examples: [["waggle generate 'Work out 4 + 7'", 'a question that the default model has seen']],
    load: () => import('../commands/use-model/generate.ts'),
  },
  {
    name: 'chat',
    group: 'Steer',
    summary: 'chat with the model',
    details:
      'Needs no daemon. The default model is this home’s newest checkpoint. Ctrl-C stops an answer, /new starts anew, /quit exits.',
    options: [
      { name: 'system', value: 'TEXT', summary: 'the system message' },
      ...SAMPLING,
      ...MODEL_OPTIONS,
    ],
    stays: true,
    load: () => import('../commands/use-model/chat.ts'),
  },
  {
    name: 'serve',
    group: 'Run',
    summary: 'answer programs with a model',
    details:
      'Needs no daemon; a node that trains serves with serve.listen. Speaks the APIs of OpenAI, Anthropic and Ollama at serve.listen (127.0.0.1:4390), with the key in serve.key in the home. The default model is this home’s newest checkpoint. Nothing is trained, except with --tinker: it then speaks the API of Tinker instead, for programs on this machine that train adapters.',
    arguments: [{ name: 'model', summary: 'a folder, a GGUF file, or org/name on the hub' }],
    options: [{ name: 'tinker', summary: "let programs train the model, by Tinker's API" }, ...MODEL_OPTIONS],
    examples: [
      ['waggle serve ./model.gguf', 'for Open WebUI, an editor or a script'],
      ['waggle serve ./model.gguf --tinker', "for training loops with Tinker's client"],
    ],
    stays: true,
    load: () => import('../commands/use-model/serve.ts'),
  },
  {
    name: 'export',
    group: 'Steer',
    summary: 'export a run as a table, or the newest checkpoint for other tools',
    details:
      "With --model, the newest checkpoint that continues that model. model: in Hugging Face's format, with the adapter merged in. adapter: the LoRA adapter alone, in PEFT's format. Both have a model card. A name that ends in .gguf gives a GGUF file: the adapter of any model, or the whole model if its base was a GGUF file.",
    arguments: [
      {
        name: 'what',
        summary: 'run, model or adapter',
        required: true,
        choices: ['run', 'model', 'adapter'],
      },
      {
        name: 'place',
        summary:
          'run: a recorded run, or `last` (the default); model, adapter: the folder or .gguf file to write',
      },
    ],
    options: [
      {
        name: 'format',
        value: 'FORMAT',
        choices: ['csv', 'jsonl'],
        summary: 'run: csv, or jsonl as with --json',
      },
      {
        name: 'dtype',
        value: 'DTYPE',
        choices: ['f32', 'bf16', 'f16', 'q8_0'],
        summary: 'model, adapter: f32 (the default), bf16 or f16; q8_0 for a .gguf file',
      },
      { name: 'force', summary: 'model, adapter: overwrite' },
      {
        name: 'push',
        value: 'ORG/NAME',
        summary: 'model, adapter: put it on the hub, in a private repository if there is none of that name',
      },
      { name: 'public', summary: 'with --push: a new repository is public' },
      { name: 'save', summary: 'model, adapter: save a checkpoint first' },
      ...MODEL_OPTIONS.filter(({ name }) => name === 'model'),
    ],
    examples: [
      ['waggle export run > run.csv', 'all metrics of all steps'],
      ['waggle export model ./trained --dtype bf16', 'for tools that load Hugging Face models'],
      ['waggle export model --push ada/sorter', 'to the hub, with the token of HF_TOKEN or `hf auth login`'],
      ['waggle export adapter adapter.gguf --dtype f16', 'for `llama-server --lora` and Ollama'],
    ],
    load: () => import('../commands/use-model/export.ts'),
  },
]
