// Commands for a machine and a home, and about the program itself.

import type { Command } from '../command.ts'
import { NODE_OPTIONS } from './options.ts'

export const SET_UP: readonly Command[] = [
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
    load: () => import('../commands/model.ts'),
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
    load: () => import('../commands/init.ts'),
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
    load: () => import('../commands/config.ts'),
  },
  {
    name: 'doctor',
    group: 'Set up',
    summary: 'look at everything that training needs, and say how to fix what does not work',
    details: 'Exit status 6 says that something does not work.',
    options: NODE_OPTIONS,
    load: () => import('../commands/doctor.ts'),
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
    load: () => import('../device/command.ts'),
  },
  {
    name: 'env',
    group: 'Set up',
    summary: 'facts for a bug report, with secrets taken out',
    load: () => import('../commands/env.ts'),
  },
  {
    name: 'completion',
    group: 'Set up',
    summary: 'a completion script for the shell',
    arguments: [
      { name: 'shell', summary: 'bash, zsh or fish', required: true, choices: ['bash', 'zsh', 'fish'] },
    ],
    examples: [['source <(waggle completion bash)', 'for this shell']],
    load: () => import('../commands/completion.ts'),
  },
  {
    name: 'help',
    group: 'Help',
    summary: 'explain a command, an error code, or the config',
    arguments: [
      { name: 'topic', summary: 'a command, a code such as E_PEER, `config`, `environment` or `exit`' },
    ],
    load: () => import('../commands/help.ts'),
  },
  {
    name: 'version',
    group: 'Help',
    summary: 'print the version',
    load: () => import('../commands/version.ts'),
  },
]
