// Commands that set up a machine or a home, and commands about the program itself.

import type { Command } from '../contract.ts'
import { NODE_OPTIONS } from './options.ts'

export const SET_UP: readonly Command[] = [
  {
    name: 'model',
    group: 'Set up',
    summary: 'download a model from the hub, or list the models on this machine',
    details:
      "Models are in Hugging Face's cache (HF_HOME). HF_TOKEN opens gated models, HF_ENDPOINT names a mirror, HF_HUB_OFFLINE prevents network access. Hashes of files are checked, and no file is run.",
    arguments: [
      { name: 'action', summary: 'pull or list', required: true, choices: ['pull', 'list'] },
      { name: 'name', summary: 'pull: org/name, or org/name@revision' },
    ],
    examples: [
      ['waggle model pull Qwen/Qwen2.5-0.5B-Instruct', 'download it; an interrupted download is resumed'],
    ],
    load: () => import('../commands/set-up/model.ts'),
  },
  {
    name: 'recipes',
    group: 'Set up',
    summary: 'list settings under which a model was seen to learn, or show one',
    details:
      'A run with a recipe shows what recorded runs had at the same step. A model has its own recipe if the config names no tasks.',
    arguments: [{ name: 'name', summary: 'the recipe to show' }],
    examples: [['waggle up --recipe sorting --model SmolLM2.gguf', 'train with its settings']],
    load: () => import('../commands/set-up/recipes.ts'),
  },
  {
    name: 'init',
    group: 'Set up',
    summary: 'write a config file that explains every key',
    details: 'Without a config file the same defaults apply. Its JSON schema, for editors, goes beside it.',
    options: [
      {
        name: 'preset',
        value: 'NAME',
        summary: 'values for a machine of this size; `auto`: for this machine',
      },
      { name: 'force', summary: 'overwrite an existing file' },
    ],
    load: () => import('../commands/set-up/init.ts'),
  },
  {
    name: 'config',
    group: 'Set up',
    summary: 'show or check the config',
    details: 'check finds everything that would keep a node from starting; restart and reload run it first.',
    arguments: [
      {
        name: 'action',
        summary: 'show (the effective config), check (all mistakes), path (where the file is)',
        choices: ['show', 'check', 'path'],
      },
    ],
    options: [{ name: 'origin', summary: 'show: where each value comes from' }, ...NODE_OPTIONS],
    examples: [['waggle config show --origin', 'each effective value and its source']],
    load: () => import('../commands/set-up/config.ts'),
  },
  {
    name: 'doctor',
    group: 'Set up',
    summary: 'check everything that training needs, and say how to fix problems',
    details: 'Exit status 6 means that a check failed.',
    options: NODE_OPTIONS,
    load: () => import('../commands/set-up/doctor.ts'),
  },
  {
    name: 'backup',
    group: 'Set up',
    summary: 'write identity, checkpoints, rollouts, peers, runs, plugins and config to one archive',
    details:
      'Safe while the node runs. The archive holds secrets. Models, caches, logs, and files that the config names are not in it.',
    arguments: [{ name: 'file', summary: 'the archive (default: waggle-NAME-DATE.tar here)' }],
    options: [{ name: 'force', summary: 'overwrite an existing file' }],
    examples: [
      ['waggle backup /mnt/disk/node.tar', 'then `waggle restore /mnt/disk/node.tar` on another machine'],
    ],
    load: () => import('../home/backup.ts'),
  },
  {
    name: 'restore',
    group: 'Set up',
    summary: 'check an archive of `waggle backup` and put it into this home',
    details: 'The node must be stopped. One identity must not run twice: stop the node that was backed up.',
    arguments: [{ name: 'file', summary: 'the archive', required: true }],
    options: [
      { name: 'force', summary: 'move files that are there into a folder beside them' },
      { name: 'new-identity', summary: 'leave the identity out: the node becomes another peer' },
    ],
    examples: [['waggle restore node.tar --home ./moved', 'into a home of its own']],
    load: () => import('../home/restore.ts'),
  },
  {
    name: 'device',
    group: 'Set up',
    summary: 'test each device against the CPU, or install the CUDA provider',
    details:
      'Each device is tested in a process of its own. The CUDA provider comes from NuGet, checked against the published digest.',
    arguments: [
      { name: 'action', summary: 'list (the default) or install', choices: ['list', 'install'] },
      { name: 'what', summary: 'install: cuda', choices: ['cuda'] },
    ],
    options: [
      {
        name: 'from',
        value: 'PLACE',
        summary: "install: URL of a NuGet feed's index, or a package file",
      },
      {
        name: 'digest',
        value: 'DIGEST',
        summary: "install: the package's digest, as sha256:… or sha512:…",
      },
    ],
    examples: [['waggle device install cuda', "on Linux with NVIDIA's driver, CUDA 13 and cuDNN 9"]],
    load: () => import('../device/command.ts'),
  },
  {
    name: 'env',
    group: 'Set up',
    summary: 'print facts for a bug report, without secrets',
    load: () => import('../commands/set-up/env.ts'),
  },
  {
    name: 'completion',
    group: 'Set up',
    summary: 'print a completion script for the shell',
    arguments: [
      {
        name: 'shell',
        summary: 'bash, zsh, fish or powershell',
        required: true,
        choices: ['bash', 'zsh', 'fish', 'powershell'],
      },
    ],
    examples: [['source <(waggle completion bash)', 'enable it in this shell']],
    load: () => import('../commands/set-up/completion.ts'),
  },
  {
    name: 'schema',
    group: 'Set up',
    summary: 'print a contract for programs, as JSON',
    details:
      'config: the JSON schema of config.toml. control, gateway: OpenAPI. A node serves these at /v1/openapi.json, and its gateway at /openapi.json.',
    arguments: [
      {
        name: 'what',
        summary: 'config, control or gateway',
        required: true,
        choices: ['config', 'control', 'gateway'],
      },
    ],
    examples: [['waggle schema control > control.json', 'for a generator of clients']],
    load: () => import('../schema/command.ts'),
  },
  {
    name: 'help',
    group: 'Help',
    summary: 'explain a command, an error code, or the config',
    arguments: [
      { name: 'topic', summary: 'a command, a code such as E_PEER, `config`, `environment` or `exit`' },
    ],
    load: () => import('../commands/set-up/help.ts'),
  },
  {
    name: 'version',
    group: 'Help',
    summary: 'print the version',
    load: () => import('../commands/set-up/version.ts'),
  },
]
