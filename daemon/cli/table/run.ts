// Commands that start, stop and connect nodes.

import type { Command } from '../command.ts'
import { REMOTE, RUN_OPTIONS, SET } from './options.ts'

const target = {
  name: 'target',
  summary:
    'a peer ID, an invite, a multiaddr such as /ip4/192.0.2.7/tcp/4001/p2p/12D3Koo..., or - for standard input',
  required: true,
} as const

export const RUN: readonly Command[] = [
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
    load: () => import('../commands/up.ts'),
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
    load: () => import('../commands/join.ts'),
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
    load: () => import('../commands/relay.ts'),
  },
  {
    name: 'stop',
    group: 'Run',
    changes: true,
    summary: 'save a checkpoint and stop the daemon',
    options: [...REMOTE, { name: 'no-checkpoint', summary: 'do not save first' }],
    load: () => import('../commands/stop.ts'),
  },
  {
    name: 'restart',
    group: 'Run',
    changes: true,
    summary: 'stop the daemon with a checkpoint and start it again in the background',
    options: RUN_OPTIONS,
    load: () => import('../commands/restart.ts'),
  },
]
