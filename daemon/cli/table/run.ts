// Commands that start, stop and connect nodes.

import type { Command } from '../contract.ts'
import { REMOTE, RUN_OPTIONS, SET } from './options.ts'

const target = {
  name: 'target',
  summary: 'a peer ID, an invite, a multiaddr, or - for standard input',
  required: true,
} as const

export const RUN: readonly Command[] = [
  {
    name: 'up',
    group: 'Run',
    stays: true,
    summary: 'start a node and train',
    details: 'Ctrl-C saves a checkpoint and stops; a second Ctrl-C stops immediately.',
    options: [{ name: 'detach', short: 'd', summary: 'run in the background' }, ...RUN_OPTIONS],
    examples: [
      ['waggle up --detach', 'in the background; see `waggle status`, `waggle logs -f`, `waggle stop`'],
      ['waggle up --home ./second --name second', 'another node on the same machine'],
    ],
    load: () => import('../commands/run/up.ts'),
  },
  {
    name: 'join',
    group: 'Run',
    changes: true,
    summary: 'connect to a peer: share rollouts, average weights if both trust',
    details: 'Starts a daemon first if none runs on this home.',
    arguments: [target],
    options: [
      { name: 'detach', short: 'd', summary: 'start the daemon in the background' },
      ...REMOTE,
      ...RUN_OPTIONS,
    ],
    examples: [
      ['waggle join 12D3KooW...', 'a peer on the same network, by its ID'],
      ['waggle join /ip4/192.0.2.7/tcp/4001/p2p/12D3KooW... --home ./second', 'by address, as another node'],
    ],
    load: () => import('../commands/run/join.ts'),
  },
  {
    name: 'relay',
    group: 'Run',
    summary: 'run a contact point and relay for other nodes, without training',
    details:
      'For a machine with a public address; TCP port 4001 and UDP port 3478 by default. `waggle invite`, run there, prints what others join with.',
    arguments: [{ ...target, required: false }],
    options: [
      {
        name: 'listen',
        value: 'ADDRS',
        key: 'swarm.listen',
        summary: 'multiaddrs to listen on, separated by commas',
      },
      {
        name: 'announce',
        value: 'ADDRS',
        key: 'swarm.announce',
        summary: 'multiaddrs under which others reach it, if these differ',
      },
      {
        name: 'stun-port',
        value: 'N',
        key: 'swarm.stun_port',
        summary: 'UDP port for STUN (default 3478)',
      },
      {
        name: 'private',
        key: 'swarm.private',
        sets: 'true',
        summary: 'serve a private swarm, which has a key',
      },
      { name: 'name', value: 'NAME', key: 'node.name', summary: 'the name of this node' },
      SET,
      {
        name: 'log-format',
        value: 'FORMAT',
        summary: 'text or json (default: text on a terminal, otherwise json)',
      },
    ],
    examples: [['waggle relay --announce /dns4/relay.example.org/tcp/4001', 'behind a forwarded port']],
    load: () => import('../commands/run/relay.ts'),
  },
  {
    name: 'stop',
    group: 'Run',
    changes: true,
    summary: 'save a checkpoint and stop the daemon',
    options: [...REMOTE, { name: 'no-checkpoint', summary: 'do not save a checkpoint' }],
    load: () => import('../commands/run/stop.ts'),
  },
  {
    name: 'restart',
    group: 'Run',
    changes: true,
    summary: 'save a checkpoint, stop the daemon, and start it again in the background',
    details: 'With an invalid config the daemon keeps running.',
    options: RUN_OPTIONS,
    load: () => import('../commands/run/restart.ts'),
  },
]
