// Commands that show what a node does.

import type { Command } from '../command.ts'
import { REMOTE, SET } from './options.ts'

export const WATCH: readonly Command[] = [
  {
    name: 'status',
    group: 'Watch',
    summary: 'one screen of text about the node',
    details: 'Exit status 3 says that no daemon runs here.',
    options: [...REMOTE, { name: 'watch', short: 'w', summary: 'print it again every two seconds' }],
    examples: [['waggle status --json', 'the whole snapshot, for programs']],
    load: () => import('../commands/status.ts'),
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
    load: () => import('../commands/top.ts'),
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
    load: () => import('../commands/peers.ts'),
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
    load: () => import('../commands/rollouts.ts'),
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
    load: () => import('../plugins/command.ts'),
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
    load: () => import('../commands/logs.ts'),
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
    load: () => import('../commands/events.ts'),
  },
]
