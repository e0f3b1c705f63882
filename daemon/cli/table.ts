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
  { name: 'model', value: 'DIR', key: 'model.path', summary: 'folder of the model to start from' },
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
  summary: 'a peer ID, an invite, or a multiaddr such as /ip4/192.0.2.7/tcp/4001/p2p/12D3Koo...',
  required: true,
} as const

export const COMMANDS: readonly Command[] = [
  {
    name: 'up',
    group: 'Run',
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
    name: 'stop',
    group: 'Run',
    summary: 'save a checkpoint and stop the daemon',
    options: [...REMOTE, { name: 'no-checkpoint', summary: 'do not save first' }],
    load: () => import('./commands/stop.ts'),
  },
  {
    name: 'restart',
    group: 'Run',
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
    summary: 'watch the node on a full screen',
    details: 'A client of the daemon: q leaves it and the daemon goes on.',
    options: [
      ...REMOTE,
      { name: 'ascii', summary: 'plain characters only' },
      { name: 'replay', value: 'FILE', summary: 'play a recorded run; `last` is the newest of this home' },
      { name: 'interval', value: 'MS', summary: 'milliseconds between pictures, from 250 (the default) up' },
    ],
    load: () => import('./commands/top.ts'),
  },
  {
    name: 'peers',
    group: 'Watch',
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
    summary: 'what is loaded, what it costs, what was switched off',
    options: REMOTE,
    load: () => import('./commands/plugins.ts'),
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
    ],
    examples: [['waggle eval --samples 8 --json', 'pass@1 to pass@8 with intervals, for a program']],
    load: () => import('./commands/eval.ts'),
  },
  {
    name: 'pause',
    group: 'Steer',
    summary: 'stop generating and training, stay connected',
    options: REMOTE,
    load: async () => ({ run: (await import('./commands/simple.ts')).pause }),
  },
  {
    name: 'resume',
    group: 'Steer',
    summary: 'go on after a pause',
    options: REMOTE,
    load: async () => ({ run: (await import('./commands/simple.ts')).resume }),
  },
  {
    name: 'checkpoint',
    group: 'Steer',
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
    name: 'set',
    group: 'Steer',
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
    summary: 'read the config file again, and take on what can change while the node runs',
    details: 'SIGHUP does the same. What needs a restart is named.',
    options: REMOTE,
    load: async () => ({ run: (await import('./commands/set.ts')).reload }),
  },
  {
    name: 'leave',
    group: 'Steer',
    summary: 'leave all peers and train on alone',
    options: REMOTE,
    load: async () => ({ run: (await import('./commands/simple.ts')).leave }),
  },
  {
    name: 'score',
    group: 'Steer',
    summary: "what a task's verifier says about an answer",
    details:
      'Works without a daemon. Without an answer it prints the question and its key; `-` reads the answer from standard input.',
    arguments: [
      { name: 'task', summary: 'a task, such as basic_arithmetic', required: true },
      { name: 'answer', summary: 'the whole completion' },
    ],
    options: [
      { name: 'seed', value: 'N', summary: 'which prompt, 0 by default' },
      { name: 'difficulty', value: 'N', summary: "the task's own default if left out" },
    ],
    examples: [["waggle score base_conversion --seed 7 '<answer>1f</answer>'", 'is it right?']],
    load: () => import('./commands/score.ts'),
  },
  {
    name: 'export',
    group: 'Steer',
    summary: 'a run as a table, or the newest checkpoint as a model folder',
    arguments: [
      { name: 'what', summary: 'run or model', required: true, choices: ['run', 'model'] },
      { name: 'place', summary: 'run: a recorded run, or `last` (the default); model: a folder to write to' },
    ],
    options: [
      { name: 'format', value: 'FORMAT', summary: 'run: csv (the default) or jsonl' },
      { name: 'force', summary: 'model: overwrite what is in the folder' },
    ],
    examples: [
      ['waggle export run > run.csv', 'every number of every step'],
      ['waggle export model ./trained', "in Hugging Face's layout"],
    ],
    load: () => import('./commands/export.ts'),
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
