// Commands that ask a running node to do something.

import type { Command } from '../contract.ts'
import { REMOTE } from './options.ts'

export const STEER: readonly Command[] = [
  {
    name: 'eval',
    group: 'Steer',
    summary: 'measure held-out accuracy now',
    options: [
      ...REMOTE,
      {
        name: 'task',
        value: 'NAME',
        repeat: true,
        summary: 'only this task; repeatable',
      },
      { name: 'prompts', value: 'N', summary: 'held-out prompts per task' },
      {
        name: 'samples',
        value: 'N',
        summary: 'answers per prompt (default 1); more give pass@k and pass^k',
      },
      {
        name: 'difference',
        value: 'POINTS',
        summary: 'say how many questions show a difference of so many points (default 5)',
      },
      { name: 'plugins', summary: 'with plugins that may act at test time, such as skill libraries' },
    ],
    examples: [['waggle eval --samples 8 --json', 'pass@1 to pass@8 with confidence intervals, as JSON']],
    load: () => import('../commands/steer/eval.ts'),
  },
  {
    name: 'audit',
    group: 'Steer',
    summary: 'compute a step behind trained weights again, this node’s own or a peer’s',
    details:
      'Draws one of the newest steps, fetches the state before it and its batch, verifies the batch, and computes the step again. The node whose step it is needs swarm.audits = true. Exit status 1 means that an audit failed.',
    arguments: [
      { name: 'peer', summary: 'a peer ID, or a name as `waggle peers` shows it (default: this node)' },
    ],
    options: [...REMOTE, { name: 'all', summary: 'all steps of the receipt instead of one' }],
    examples: [['waggle audit clever-otter', 'a step of a peer']],
    load: () => import('../commands/steer/audit.ts'),
  },
  {
    name: 'pause',
    group: 'Steer',
    changes: true,
    summary: 'stop generating and training, but stay connected',
    options: REMOTE,
    load: async () => ({ run: (await import('../commands/steer/simple.ts')).pause }),
  },
  {
    name: 'resume',
    group: 'Steer',
    changes: true,
    summary: 'continue after a pause',
    options: REMOTE,
    load: async () => ({ run: (await import('../commands/steer/simple.ts')).resume }),
  },
  {
    name: 'checkpoint',
    group: 'Steer',
    changes: ['', 'save', 'restore'],
    summary: 'save a checkpoint now; list, compare or restore saved ones',
    details:
      'Only save needs a running node. diff shows how far the weights moved, by default between the two newest. restore needs a stopped node, and moves newer checkpoints to another folder.',
    arguments: [
      {
        name: 'what',
        summary: 'save (the default), list, diff or restore',
        choices: ['save', 'list', 'diff', 'restore'],
      },
      { name: 'step', summary: 'diff, restore: the step of the checkpoint' },
      { name: 'other', summary: 'diff: the step to compare with (default: the newest)' },
    ],
    options: REMOTE,
    examples: [
      ['waggle checkpoint list', 'step, age, size and held-out accuracy of each'],
      ['waggle checkpoint restore 150', 'the next start continues from step 150'],
    ],
    load: () => import('../commands/steer/checkpoint.ts'),
  },
  {
    name: 'invite',
    group: 'Steer',
    summary: 'print an invite with which another node can join this swarm',
    details: 'An invite to a private swarm contains its key: keep it secret.',
    examples: [['waggle join "$(ssh other waggle invite)"', 'join the swarm of a node on another machine']],
    options: REMOTE,
    load: async () => ({ run: (await import('../commands/steer/simple.ts')).invite }),
  },
  {
    name: 'send-file',
    formerly: 'share',
    group: 'Steer',
    changes: true,
    summary: 'offer a file to peers, such as a checkpoint or an adapter',
    details: 'Prints the source for `waggle get-file`. The offer lasts until this node stops.',
    arguments: [{ name: 'file', summary: 'the file', required: true }],
    options: [
      ...REMOTE,
      {
        name: 'to',
        value: 'PEER',
        repeat: true,
        summary: 'only for this peer, by ID or name; repeatable',
      },
    ],
    examples: [['waggle send-file adapter.safetensors --to brave-otter', 'only this peer can fetch it']],
    load: async () => ({ run: (await import('../commands/steer/files.ts')).sendFile }),
  },
  {
    name: 'get-file',
    formerly: 'fetch',
    group: 'Steer',
    changes: true,
    summary: 'download a file that a peer offers',
    details: 'Each chunk is verified; an interrupted download is resumed. Waggle never loads the file.',
    arguments: [
      { name: 'source', summary: 'what `waggle send-file` printed on the other node', required: true },
      { name: 'file', summary: 'the file to write; must not exist yet', required: true },
    ],
    options: REMOTE,
    examples: [
      ['waggle get-file 12D3Koo.../3fa9... theirs.safetensors', 'inspect the file before you use it'],
    ],
    load: async () => ({ run: (await import('../commands/steer/files.ts')).getFile }),
  },
  {
    name: 'set',
    group: 'Steer',
    changes: true,
    summary: 'change settings of the running node until it stops',
    details: 'For keys that `waggle help config` marks as live; if one cannot change, none is changed.',
    arguments: [{ name: 'setting', summary: 'KEY=VALUE, one or more', required: true, repeat: true }],
    options: REMOTE,
    examples: [['waggle set training.learning_rate=3e-4', 'from the next step on']],
    load: async () => ({ run: (await import('../commands/steer/set.ts')).set }),
  },
  {
    name: 'reload',
    group: 'Steer',
    changes: true,
    summary: 'reread the config file and apply its live keys',
    details: 'SIGHUP does the same. What needs a restart is listed; an invalid config changes nothing.',
    options: REMOTE,
    load: async () => ({ run: (await import('../commands/steer/set.ts')).reload }),
  },
  {
    name: 'leave',
    group: 'Steer',
    changes: true,
    summary: 'disconnect from all peers and continue training alone',
    options: REMOTE,
    load: async () => ({ run: (await import('../commands/steer/simple.ts')).leave }),
  },
]
