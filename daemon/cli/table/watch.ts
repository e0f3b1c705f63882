// Commands that show what a node does.

import type { Command } from '../contract.ts'
import { FLEET, REMOTE, SET } from './options.ts'

export const WATCH: readonly Command[] = [
  {
    name: 'status',
    group: 'Watch',
    summary: 'print the state of the node',
    details: 'Exit status 3 means that no daemon is running.',
    options: [...REMOTE, ...FLEET, { name: 'watch', short: 'w', summary: 'repeat every two seconds' }],
    examples: [
      ['waggle status --json', 'the whole snapshot as JSON'],
      ['waggle status --all', 'a row for each of several nodes; exit status 5 if one does not answer'],
    ],
    load: () => import('../commands/watch/status.ts'),
  },
  {
    name: 'top',
    group: 'Watch',
    stays: true,
    summary: 'watch the node in a full-screen terminal UI',
    details: 'q closes the screen, ? lists the keys; the daemon keeps running.',
    options: [
      ...REMOTE,
      ...FLEET,
      { name: 'ascii', summary: 'ASCII characters only' },
      { name: 'theme', value: 'NAME', summary: 'colours: default, light or mono', key: 'screen.theme' },
      { name: 'no-mouse', summary: 'leave the mouse to the terminal', key: 'screen.mouse', sets: 'false' },
      {
        name: 'replay',
        value: 'FILE',
        summary: 'replay a recorded run; `last` is the newest one of this home',
      },
      { name: 'read-only', summary: 'disable everything that changes the node' },
      { name: 'interval', value: 'MS', summary: 'milliseconds between updates (default and minimum 250)' },
    ],
    load: () => import('../commands/watch/top.ts'),
  },
  {
    name: 'peers',
    group: 'Watch',
    changes: ['mute', 'unmute'],
    summary: 'list peers and what each has sent; mute or unmute one',
    arguments: [
      { name: 'action', summary: 'list (the default), mute or unmute', choices: ['list', 'mute', 'unmute'] },
      { name: 'peer', summary: 'name or ID of the peer' },
    ],
    options: REMOTE,
    examples: [['waggle peers mute slow-heron', 'ignore its groups until `waggle peers unmute`']],
    load: () => import('../commands/watch/peers.ts'),
  },
  {
    name: 'rollouts',
    group: 'Watch',
    summary: 'show the newest groups, own and foreign',
    options: [
      ...REMOTE,
      { name: 'lines', short: 'n', value: 'N', summary: 'number of groups (default 16)' },
      { name: 'own', summary: "only this node's groups" },
      { name: 'foreign', summary: "only peers' groups" },
      { name: 'full', summary: 'include question, answer key and every rollout' },
    ],
    load: () => import('../commands/watch/rollouts.ts'),
  },
  {
    name: 'conversations',
    group: 'Watch',
    changes: ['rate', 'delete'],
    summary: 'list, show, rate or delete the served answers that the node learns from',
    details:
      'The node keeps them with agents.learn = "feedback". What was learnt from one that is deleted stays in the weights.',
    arguments: [
      {
        name: 'action',
        summary: 'list (the default), show, rate or delete',
        choices: ['list', 'show', 'rate', 'delete'],
      },
      { name: 'id', summary: 'of an answer, or its first characters' },
      { name: 'reward', summary: 'rate: up, down, or a number from 0 to 1' },
    ],
    options: [
      ...REMOTE,
      { name: 'all', summary: 'delete: all of them' },
      { name: 'comment', value: 'TEXT', summary: 'rate: kept beside the rating' },
      { name: 'open-webui', value: 'FILE', summary: "rate: all thumbs in Open WebUI's export of feedback" },
    ],
    examples: [
      ['waggle conversations rate 3fa9 up', 'a thumb for the answer whose id begins so'],
      ['waggle conversations delete --all', 'forget everything that was asked'],
    ],
    load: () => import('../commands/watch/conversations.ts'),
  },
  {
    name: 'plugins',
    group: 'Watch',
    summary: 'show loaded plugins; list, check, create, install or run plugins',
    details:
      "Without an action: the plugins of the running node and their cost. The actions need no node. list: those to try first; `list more`: the others, with what was measured. check: the config's plugins, or conformance tests on the one named. new: a small plugin with a test. add: installs an npm package for this home. run: calls one hook on JSON from a file or standard input.",
    arguments: [
      {
        name: 'action',
        summary: 'list, check, new, add or run',
        choices: ['list', 'check', 'new', 'add', 'run'],
      },
      {
        name: 'what',
        summary:
          'list: more; check: a plugin; new: a kind and a name; add: a package; run: a plugin and a file',
        repeat: true,
      },
    ],
    options: [...REMOTE, SET],
    examples: [
      ['waggle plugins check', 'check whether a node could start with this config'],
      ['waggle plugins new hint patience', 'create a folder with a plugin to start from'],
    ],
    load: () => import('../plugins/command.ts'),
  },
  {
    name: 'logs',
    group: 'Watch',
    summary: "show the node's log",
    details: 'Reads the log file, so it needs no daemon.',
    options: [
      { name: 'follow', short: 'f', summary: 'keep printing new lines' },
      { name: 'lines', short: 'n', value: 'N', summary: 'number of lines (default 100)' },
      {
        name: 'level',
        value: 'LEVEL',
        choices: ['error', 'warn', 'info', 'debug'],
        summary: 'lowest level shown: error, warn, info (the default) or debug',
      },
      { name: 'filter', value: 'TEXT', summary: 'only lines that contain this text' },
    ],
    examples: [['waggle logs -f --level warn', 'follow warnings and errors']],
    load: () => import('../commands/watch/logs.ts'),
  },
  {
    name: 'events',
    group: 'Watch',
    summary: 'follow the event stream',
    options: [
      ...REMOTE,
      { name: 'since', value: 'ID', summary: 'start after this event; 0: with the oldest one kept' },
      {
        name: 'type',
        value: 'TYPE',
        repeat: true,
        summary: 'only events of this type, such as step or eval',
      },
      { name: 'no-follow', summary: 'print the kept events and exit' },
    ],
    examples: [['waggle events --json --type eval', 'evaluations as JSON lines']],
    load: () => import('../commands/watch/events.ts'),
  },
]
