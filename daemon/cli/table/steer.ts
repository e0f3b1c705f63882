// Commands that ask a running node to do something.

import type { Command } from '../command.ts'
import { REMOTE } from './options.ts'

export const STEER: readonly Command[] = [
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
    load: () => import('../commands/eval.ts'),
  },
  {
    name: 'pause',
    group: 'Steer',
    changes: true,
    summary: 'stop generating and training, stay connected',
    options: REMOTE,
    load: async () => ({ run: (await import('../commands/simple.ts')).pause }),
  },
  {
    name: 'resume',
    group: 'Steer',
    changes: true,
    summary: 'go on after a pause',
    options: REMOTE,
    load: async () => ({ run: (await import('../commands/simple.ts')).resume }),
  },
  {
    name: 'checkpoint',
    group: 'Steer',
    changes: true,
    summary: 'save a checkpoint now',
    options: REMOTE,
    load: async () => ({ run: (await import('../commands/simple.ts')).checkpoint }),
  },
  {
    name: 'invite',
    group: 'Steer',
    summary: 'one string with which another node can join this swarm',
    details: 'It holds contacts and, for a private swarm, the key: keep it as you would a key.',
    examples: [['waggle join "$(ssh other waggle invite)"', 'join the swarm of another machine']],
    options: REMOTE,
    load: async () => ({ run: (await import('../commands/simple.ts')).invite }),
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
    load: async () => ({ run: (await import('../commands/share.ts')).share }),
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
    load: async () => ({ run: (await import('../commands/share.ts')).fetchFile }),
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
    load: async () => ({ run: (await import('../commands/set.ts')).set }),
  },
  {
    name: 'reload',
    group: 'Steer',
    changes: true,
    summary: 'read the config file again, and take on what can change while the node runs',
    details: 'SIGHUP does the same. What needs a restart is named.',
    options: REMOTE,
    load: async () => ({ run: (await import('../commands/set.ts')).reload }),
  },
  {
    name: 'leave',
    group: 'Steer',
    changes: true,
    summary: 'leave all peers and train on alone',
    options: REMOTE,
    load: async () => ({ run: (await import('../commands/simple.ts')).leave }),
  },
]
