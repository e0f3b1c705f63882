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

const target = {
  name: 'target',
  summary: 'a peer ID, or a multiaddr such as /ip4/192.0.2.7/tcp/4001/p2p/12D3Koo...',
  required: true,
} as const

export const COMMANDS: readonly Command[] = [
  {
    name: 'up',
    group: 'Run',
    summary: 'start a node here and train',
    details:
      'Needs no set-up: makes an identity, loads the model and trains alone at once; peers only add. Ctrl-C saves a checkpoint and stops; a second Ctrl-C stops at once.',
    options: RUN_OPTIONS,
    examples: [
      ['waggle up', 'everything defaulted'],
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
    options: RUN_OPTIONS,
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
    options: [{ name: 'no-checkpoint', summary: 'do not save first' }],
    load: () => import('./commands/stop.ts'),
  },
  {
    name: 'status',
    group: 'Watch',
    summary: 'one screen of text about the node',
    details: 'Exit status 3 says that no daemon runs here.',
    options: [{ name: 'watch', short: 'w', summary: 'print it again every two seconds' }],
    examples: [['waggle status --json', 'the whole snapshot, for programs']],
    load: () => import('./commands/status.ts'),
  },
  {
    name: 'top',
    group: 'Watch',
    summary: 'watch the node on a full screen',
    details: 'A client of the daemon: q leaves it and the daemon goes on.',
    options: [
      { name: 'ascii', summary: 'plain characters only' },
      { name: 'replay', value: 'FILE', summary: 'play a recorded run; `last` is the newest of this home' },
      { name: 'interval', value: 'MS', summary: 'milliseconds between pictures, from 250 (the default) up' },
    ],
    load: () => import('./commands/top.ts'),
  },
  {
    name: 'peers',
    group: 'Watch',
    summary: 'list peers, and what came from each',
    load: () => import('./commands/peers.ts'),
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
      { name: 'task', value: 'NAME', repeat: true, summary: 'only this task; may be given more than once' },
      { name: 'prompts', value: 'N', summary: 'held-out prompts per task' },
    ],
    load: () => import('./commands/eval.ts'),
  },
  {
    name: 'pause',
    group: 'Steer',
    summary: 'stop generating and training, stay connected',
    load: async () => ({ run: (await import('./commands/simple.ts')).pause }),
  },
  {
    name: 'resume',
    group: 'Steer',
    summary: 'go on after a pause',
    load: async () => ({ run: (await import('./commands/simple.ts')).resume }),
  },
  {
    name: 'checkpoint',
    group: 'Steer',
    summary: 'save a checkpoint now',
    load: async () => ({ run: (await import('./commands/simple.ts')).checkpoint }),
  },
  {
    name: 'leave',
    group: 'Steer',
    summary: 'leave all peers and train on alone',
    load: async () => ({ run: (await import('./commands/simple.ts')).leave }),
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
