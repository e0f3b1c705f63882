// All commands, in the order in which `waggle help` shows them.

import type { Command, Option } from './command.ts'

const SET: Option = {
  name: 'set',
  value: 'KEY=VALUE',
  repeat: true,
  summary: 'set any config key, such as training.learning_rate=3e-4',
}

/** Options that stand for config keys. */
const NODE_OPTIONS: readonly Option[] = [
  {
    name: 'preset',
    value: 'NAME',
    key: 'preset',
    summary: 'tiny, standard, large or gpu; see `waggle doctor`',
  },
  { name: 'name', value: 'NAME', key: 'node.name', summary: 'what this node calls itself' },
  {
    name: 'model',
    value: 'MODEL',
    key: 'model.path',
    summary: 'the model: a folder, or a name on the hub such as org/name or org/name@revision',
  },
  {
    name: 'device',
    value: 'DEVICE',
    key: 'engine.device',
    summary: 'auto, cpu, webgpu, cuda, dml or coreml',
  },
  { name: 'threads', value: 'N', key: 'engine.threads', summary: 'CPU threads' },
  { name: 'tasks', value: 'A,B', key: 'tasks', summary: 'what to learn' },
  {
    name: 'listen',
    value: 'ADDRS',
    key: 'swarm.listen',
    summary: 'multiaddrs to listen on, with commas between',
  },
  { name: 'no-swarm', key: 'swarm.enabled', sets: 'false', summary: 'train alone, with no network at all' },
  { name: 'seed', value: 'N', key: 'node.seed', summary: 'where random numbers start' },
  SET,
]

/** For commands that use a model without a node. */
const MODEL_OPTIONS: readonly Option[] = NODE_OPTIONS.filter(({ name }) =>
  ['model', 'device', 'threads', 'set'].includes(name),
)

const SAMPLING: readonly Option[] = [
  {
    name: 'temperature',
    value: 'T',
    summary: "0 takes the most likely token; the model's own default if left out",
  },
  { name: 'top-p', value: 'P', summary: 'only the most likely tokens that together have this share' },
  { name: 'top-k', value: 'N', summary: 'only so many of the most likely tokens' },
  { name: 'max-tokens', value: 'N', summary: 'tokens of an answer at most, 256 by default' },
  { name: 'min-p', value: 'P', summary: 'only tokens at least so likely, next to the most likely one' },
  { name: 'stop', value: 'TEXT', repeat: true, summary: 'end with this text; may be given again' },
  { name: 'seed', value: 'N', summary: 'the same seed gives the same answer' },
]

const RUN_OPTIONS: readonly Option[] = [
  ...NODE_OPTIONS,
  { name: 'log-format', value: 'FORMAT', summary: 'text or json; by default text on a terminal, else json' },
]

/** For commands that talk to a daemon and nothing else. */
const REMOTE: readonly Option[] = [
  {
    name: 'on',
    value: 'ADDRESS',
    summary: 'a daemon elsewhere: ssh://host, unix:///socket, http://host:port',
  },
  { name: 'token-file', value: 'FILE', summary: 'the token for --on http://' },
]

const target = {
  name: 'target',
  summary:
    'a peer ID, an invite, a multiaddr such as /ip4/192.0.2.7/tcp/4001/p2p/12D3Koo..., or - for standard input',
  required: true,
} as const

export const COMMANDS: readonly Command[] = [
  {
    name: 'up',
    group: 'Run',
    stays: true,
    summary: 'start a node here and train',
    details:
      'Needs no set-up: makes an identity, loads the model and trains alone at once; peers only add. Ctrl-C saves a checkpoint and stops; a second Ctrl-C stops at once.',
    options: [{ name: 'detach', short: 'd', summary: 'run in the background' }, ...RUN_OPTIONS],
    examples: [
      ['waggle up', 'everything defaulted'],
      ['waggle up --detach', 'in the background; see `waggle status`, `waggle logs -f`, `waggle stop`'],
      ['waggle up --home ./second --name second', 'another node on the same machine'],
      ['waggle up --set training.learning_rate=3e-4', 'with one key changed'],
    ],
    load: () => import('./commands/up.ts'),
  },
  {
    name: 'join',
    group: 'Run',
    changes: true,
    summary: 'connect to a peer and learn from each other',
    details: 'If no daemon runs on this home, one is started here first, as `waggle up` does.',
    arguments: [target],
    options: [...REMOTE, ...RUN_OPTIONS],
    examples: [
      ['waggle join 12D3KooW...', 'a peer on the same network, by its ID'],
      ['waggle join /ip4/192.0.2.7/tcp/4001/p2p/12D3KooW... --home ./second', 'by address, as another node'],
    ],
    load: () => import('./commands/join.ts'),
  },
  {
    name: 'relay',
    group: 'Run',
    summary: 'run a contact and relay for others, without training',
    details:
      'For a machine with a public address: nodes find each other through it, those behind NATs are reached through it, and it answers STUN for WebRTC. Listens on TCP port 4001 and UDP port 3478 unless told otherwise. `waggle invite` on it prints what others join with.',
    arguments: [{ ...target, required: false }],
    options: [
      {
        name: 'listen',
        value: 'ADDRS',
        key: 'swarm.listen',
        summary: 'multiaddrs to listen on, with commas between',
      },
      {
        name: 'announce',
        value: 'ADDRS',
        key: 'swarm.announce',
        summary: 'multiaddrs that others reach it at, where a router or a name is before it',
      },
      {
        name: 'stun-port',
        value: 'N',
        key: 'swarm.stun_port',
        summary: 'UDP port for STUN, 3478 by default',
      },
      { name: 'private', key: 'swarm.private', sets: 'true', summary: 'of a private swarm, with a key' },
      { name: 'name', value: 'NAME', key: 'node.name', summary: 'what this node calls itself' },
      SET,
      {
        name: 'log-format',
        value: 'FORMAT',
        summary: 'text or json; by default text on a terminal, else json',
      },
    ],
    examples: [
      ['waggle relay', 'on a machine with a public address'],
      ['waggle relay --announce /dns4/relay.example.org/tcp/4001', 'behind a forwarded port'],
    ],
    load: () => import('./commands/relay.ts'),
  },
  {
    name: 'stop',
    group: 'Run',
    changes: true,
    summary: 'save a checkpoint and stop the daemon',
    options: [...REMOTE, { name: 'no-checkpoint', summary: 'do not save first' }],
    load: () => import('./commands/stop.ts'),
  },
  {
    name: 'restart',
    group: 'Run',
    changes: true,
    summary: 'stop the daemon with a checkpoint and start it again in the background',
    options: RUN_OPTIONS,
    load: () => import('./commands/restart.ts'),
  },
  {
    name: 'status',
    group: 'Watch',
    summary: 'one screen of text about the node',
    details: 'Exit status 3 says that no daemon runs here.',
    options: [...REMOTE, { name: 'watch', short: 'w', summary: 'print it again every two seconds' }],
    examples: [['waggle status --json', 'the whole snapshot, for programs']],
    load: () => import('./commands/status.ts'),
  },
  {
    name: 'top',
    group: 'Watch',
    stays: true,
    summary: 'watch the node on a full screen',
    details: 'A client of the daemon: q leaves it and the daemon goes on.',
    options: [
      ...REMOTE,
      { name: 'ascii', summary: 'plain characters only' },
      { name: 'replay', value: 'FILE', summary: 'play a recorded run; `last` is the newest of this home' },
      { name: 'read-only', summary: 'nothing on the screen changes the node' },
      { name: 'interval', value: 'MS', summary: 'milliseconds between pictures, from 250 (the default) up' },
    ],
    load: () => import('./commands/top.ts'),
  },
  {
    name: 'peers',
    group: 'Watch',
    changes: ['mute', 'unmute'],
    summary: 'list peers, and what came from each; mute one, or hear it again',
    arguments: [
      { name: 'action', summary: 'list (the default), mute or unmute', choices: ['list', 'mute', 'unmute'] },
      { name: 'peer', summary: 'which one, by its name or its ID' },
    ],
    options: REMOTE,
    examples: [['waggle peers mute slow-heron', 'take nothing from it until `waggle peers unmute`']],
    load: () => import('./commands/peers.ts'),
  },
  {
    name: 'rollouts',
    group: 'Watch',
    summary: 'the newest groups of rollouts, own and foreign',
    options: [
      ...REMOTE,
      { name: 'lines', short: 'n', value: 'N', summary: 'how many groups, 16 by default' },
      { name: 'own', summary: "only this node's own" },
      { name: 'foreign', summary: "only peers'" },
      { name: 'full', summary: 'with question, key and every sample' },
    ],
    load: () => import('./commands/rollouts.ts'),
  },
  {
    name: 'plugins',
    group: 'Watch',
    summary: 'what is loaded, what it costs, what was switched off; lists, checks, makes and adds plugins',
    details:
      'Without an action it asks the running node. list, check, new, add and run need none: list shows all plugins and what they need, check tells every problem of the config with its cure, or tries one plugin against the rules that all keep to, new writes a small plugin with its test, add installs an npm package for this home, run calls a hook on JSON from a file or from standard input.',
    arguments: [
      {
        name: 'action',
        summary: 'list, check, new, add or run',
        choices: ['list', 'check', 'new', 'add', 'run'],
      },
      {
        name: 'what',
        summary: 'check: a plugin; new: a kind and a name; add: an npm package; run: a plugin and its input',
        repeat: true,
      },
    ],
    options: [...REMOTE, SET],
    examples: [
      ['waggle plugins check', 'whether a node could start with this config'],
      ['waggle plugins new hint patience', 'a folder with a plugin to begin from'],
    ],
    load: () => import('./plugins/command.ts'),
  },
  {
    name: 'logs',
    group: 'Watch',
    summary: "show the node's log",
    details: 'Reads the file, so it works when the daemon has ended, too.',
    options: [
      { name: 'follow', short: 'f', summary: 'go on with what is added' },
      { name: 'lines', short: 'n', value: 'N', summary: 'how many of the newest lines, 100 by default' },
      {
        name: 'level',
        value: 'LEVEL',
        summary: 'error, warn, info (the default) or debug, and what is above',
      },
      { name: 'filter', value: 'TEXT', summary: 'only lines with this text' },
    ],
    examples: [['waggle logs -f --level warn', 'what goes wrong, as it happens']],
    load: () => import('./commands/logs.ts'),
  },
  {
    name: 'events',
    group: 'Watch',
    summary: 'follow what happens, one event at a time',
    options: [
      ...REMOTE,
      { name: 'since', value: 'ID', summary: 'begin after this event; 0 for all that are kept' },
      {
        name: 'type',
        value: 'TYPE',
        repeat: true,
        summary: 'only events of this type, such as step or eval',
      },
      { name: 'no-follow', summary: 'end with what is kept' },
    ],
    examples: [['waggle events --json --type eval', 'evaluations as JSON lines']],
    load: () => import('./commands/events.ts'),
  },
  {
    name: 'eval',
    group: 'Steer',
    summary: 'measure held-out accuracy now',
    options: [
      ...REMOTE,
      { name: 'task', value: 'NAME', repeat: true, summary: 'only this task; may be given more than once' },
      { name: 'prompts', value: 'N', summary: 'held-out prompts per task' },
      { name: 'samples', value: 'N', summary: 'answers per prompt, 1 by default; more give pass@k' },
      { name: 'plugins', summary: 'with plugins that may act at test time, such as skill libraries' },
    ],
    examples: [['waggle eval --samples 8 --json', 'pass@1 to pass@8 with intervals, for a program']],
    load: () => import('./commands/eval.ts'),
  },
  {
    name: 'pause',
    group: 'Steer',
    changes: true,
    summary: 'stop generating and training, stay connected',
    options: REMOTE,
    load: async () => ({ run: (await import('./commands/simple.ts')).pause }),
  },
  {
    name: 'resume',
    group: 'Steer',
    changes: true,
    summary: 'go on after a pause',
    options: REMOTE,
    load: async () => ({ run: (await import('./commands/simple.ts')).resume }),
  },
  {
    name: 'checkpoint',
    group: 'Steer',
    changes: true,
    summary: 'save a checkpoint now',
    options: REMOTE,
    load: async () => ({ run: (await import('./commands/simple.ts')).checkpoint }),
  },
  {
    name: 'invite',
    group: 'Steer',
    summary: 'one string with which another node can join this swarm',
    details: 'It holds contacts and, for a private swarm, the key: keep it as you would a key.',
    examples: [['waggle join "$(ssh other waggle invite)"', 'join the swarm of another machine']],
    options: REMOTE,
    load: async () => ({ run: (await import('./commands/simple.ts')).invite }),
  },
  {
    name: 'share',
    group: 'Steer',
    changes: true,
    summary: 'let a peer fetch a file, such as a checkpoint or an adapter',
    details:
      'Prints what the other node’s person gives to `waggle fetch`. Nothing is sent before they ask. Until the node stops.',
    arguments: [{ name: 'file', summary: 'the file', required: true }],
    options: [
      ...REMOTE,
      {
        name: 'to',
        value: 'PEER',
        repeat: true,
        summary: 'only to this peer, by ID or name; may be given more than once',
      },
    ],
    examples: [['waggle share adapter.safetensors --to brave-otter', 'nobody else gets it']],
    load: async () => ({ run: (await import('./commands/share.ts')).share }),
  },
  {
    name: 'fetch',
    group: 'Steer',
    changes: true,
    summary: 'fetch a file that a peer shares',
    details:
      'In chunks, each checked; a fetch that was cut off goes on where it stopped. Nothing loads the file until you name it.',
    arguments: [
      { name: 'source', summary: 'what `waggle share` printed there', required: true },
      { name: 'file', summary: 'where to put it; must not exist', required: true },
    ],
    options: REMOTE,
    examples: [['waggle fetch 12D3Koo.../3fa9... theirs.safetensors', 'then look at it before you use it']],
    load: async () => ({ run: (await import('./commands/share.ts')).fetchFile }),
  },
  {
    name: 'set',
    group: 'Steer',
    changes: true,
    summary: 'change settings of the running node, until it stops',
    details:
      'Only keys that can change while a node runs; `waggle help config` marks them. Where one cannot, nothing is changed.',
    arguments: [
      { name: 'setting', summary: 'KEY=VALUE; may be given more than once', required: true, repeat: true },
    ],
    options: REMOTE,
    examples: [['waggle set training.learning_rate=3e-4', 'from the next step on']],
    load: async () => ({ run: (await import('./commands/set.ts')).set }),
  },
  {
    name: 'reload',
    group: 'Steer',
    changes: true,
    summary: 'read the config file again, and take on what can change while the node runs',
    details: 'SIGHUP does the same. What needs a restart is named.',
    options: REMOTE,
    load: async () => ({ run: (await import('./commands/set.ts')).reload }),
  },
  {
    name: 'leave',
    group: 'Steer',
    changes: true,
    summary: 'leave all peers and train on alone',
    options: REMOTE,
    load: async () => ({ run: (await import('./commands/simple.ts')).leave }),
  },
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
    load: () => import('./commands/score.ts'),
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
    load: () => import('./commands/generate.ts'),
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
    load: () => import('./commands/chat.ts'),
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
    load: () => import('./commands/export.ts'),
  },
  {
    name: 'model',
    group: 'Set up',
    summary: 'fetch a model from the hub, or list those that are here',
    details:
      "They are kept in Hugging Face's cache, which HF_HOME moves. HF_TOKEN opens gated models, HF_ENDPOINT names a mirror, HF_HUB_OFFLINE keeps from asking. Only weights, configs, tokenizers and texts are fetched, each checked against its hash; nothing in them is run.",
    arguments: [
      { name: 'action', summary: 'pull or list', required: true, choices: ['pull', 'list'] },
      { name: 'name', summary: 'pull: org/name, or org/name@revision' },
    ],
    examples: [
      ['waggle model pull Qwen/Qwen2.5-0.5B-Instruct', 'fetch it; what was fetched in part goes on'],
      ['waggle up --model Qwen/Qwen2.5-0.5B-Instruct', 'fetches it, too, and trains it'],
    ],
    load: () => import('./commands/model.ts'),
  },
  {
    name: 'init',
    group: 'Set up',
    summary: 'write a config file with every key explained',
    details: 'Not needed: without a config file the same defaults are used.',
    options: [
      {
        name: 'preset',
        value: 'NAME',
        summary: 'with values for a machine of some size; `auto` for this one',
      },
      { name: 'force', summary: 'write it anew' },
    ],
    load: () => import('./commands/init.ts'),
  },
  {
    name: 'config',
    group: 'Set up',
    summary: 'show or check the config',
    arguments: [
      {
        name: 'action',
        summary: 'show (the config as it is used), check (find every mistake), path (where the file is)',
        choices: ['show', 'check', 'path'],
      },
    ],
    options: [{ name: 'origin', summary: 'with show: say where each value comes from' }, ...NODE_OPTIONS],
    examples: [['waggle config show --origin', 'what is used, and why']],
    load: () => import('./commands/config.ts'),
  },
  {
    name: 'doctor',
    group: 'Set up',
    summary: 'look at everything that training needs, and say how to fix what does not work',
    details: 'Exit status 6 says that something does not work.',
    options: NODE_OPTIONS,
    load: () => import('./commands/doctor.ts'),
  },
  {
    name: 'device',
    group: 'Set up',
    summary: 'try each device against the CPU, or install what CUDA needs',
    details:
      "Each device is tried in a process of its own: a product of matrices and training steps that must agree with the CPU's. CUDA's libraries come from NuGet, where ONNX Runtime publishes them, and are checked against its digest.",
    arguments: [
      { name: 'action', summary: 'list (the default) or install', choices: ['list', 'install'] },
      { name: 'what', summary: 'with install: cuda', choices: ['cuda'] },
    ],
    options: [
      {
        name: 'from',
        value: 'PLACE',
        summary: "install: a NuGet feed's index as a URL, or the package as a file",
      },
      {
        name: 'digest',
        value: 'DIGEST',
        summary: 'install: sha256:… or sha512:… that the package must have',
      },
    ],
    examples: [
      ['waggle device', 'which there are, and how fast'],
      ['waggle device install cuda', "on Linux with NVIDIA's driver, CUDA 12 and cuDNN 9"],
    ],
    load: () => import('./device/command.ts'),
  },
  {
    name: 'env',
    group: 'Set up',
    summary: 'facts for a bug report, with secrets taken out',
    load: () => import('./commands/env.ts'),
  },
  {
    name: 'completion',
    group: 'Set up',
    summary: 'a completion script for the shell',
    arguments: [
      { name: 'shell', summary: 'bash, zsh or fish', required: true, choices: ['bash', 'zsh', 'fish'] },
    ],
    examples: [['source <(waggle completion bash)', 'for this shell']],
    load: () => import('./commands/completion.ts'),
  },
  {
    name: 'help',
    group: 'Help',
    summary: 'explain a command, an error code, or the config',
    arguments: [
      { name: 'topic', summary: 'a command, a code such as E_PEER, `config`, `environment` or `exit`' },
    ],
    load: () => import('./commands/help.ts'),
  },
  {
    name: 'version',
    group: 'Help',
    summary: 'print the version',
    load: () => import('./commands/version.ts'),
  },
]
