// Options that several commands have.

import type { Option } from '../contract.ts'

export const SET: Option = {
  name: 'set',
  value: 'KEY=VALUE',
  repeat: true,
  summary: 'set any config key, such as training.learning_rate=3e-4',
}

/** Options that set config keys. */
export const NODE_OPTIONS: readonly Option[] = [
  {
    name: 'recipe',
    value: 'NAME',
    key: 'recipe',
    summary: 'settings under which a model was seen to learn; see `waggle recipes`',
  },
  {
    name: 'preset',
    value: 'NAME',
    key: 'preset',
    summary: 'tiny, standard or large; see `waggle doctor`',
  },
  { name: 'name', value: 'NAME', key: 'node.name', summary: 'the name of this node' },
  {
    name: 'model',
    value: 'MODEL',
    key: 'model.path',
    summary: 'the model: a folder, a GGUF file, or org/name on the hub',
  },
  {
    name: 'device',
    value: 'DEVICE',
    key: 'engine.device',
    summary: 'auto, cpu, webgpu, cuda, dml or coreml',
  },
  { name: 'threads', value: 'N', key: 'engine.threads', summary: 'CPU threads' },
  { name: 'tasks', value: 'A,B', key: 'tasks', summary: 'tasks to train on, separated by commas' },
  {
    name: 'listen',
    value: 'ADDRS',
    key: 'swarm.listen',
    summary: 'multiaddrs to listen on, separated by commas',
  },
  { name: 'no-swarm', key: 'swarm.enabled', sets: 'false', summary: 'train alone, with no network at all' },
  { name: 'seed', value: 'N', key: 'node.seed', summary: 'seed of all random numbers' },
  SET,
]

/** For commands that use a model without a node. */
export const MODEL_OPTIONS: readonly Option[] = NODE_OPTIONS.filter(({ name }) =>
  ['model', 'device', 'threads', 'set'].includes(name),
)

export const SAMPLING: readonly Option[] = [
  {
    name: 'temperature',
    value: 'T',
    summary: '0 takes the likeliest token; default: as the model says, else 1; in a chat 0.6 (top-p 0.9)',
  },
  {
    name: 'top-p',
    value: 'P',
    summary: 'sample from the likeliest tokens that together have this probability',
  },
  { name: 'top-k', value: 'N', summary: 'sample from the N likeliest tokens' },
  { name: 'max-tokens', value: 'N', summary: 'maximum tokens of an answer (default 256)' },
  { name: 'min-p', value: 'P', summary: 'leave out tokens less likely than P times the likeliest' },
  { name: 'stop', value: 'TEXT', repeat: true, summary: 'stop at this text; repeatable' },
  { name: 'seed', value: 'N', summary: 'the same seed gives the same answer' },
]

export const RUN_OPTIONS: readonly Option[] = [
  ...NODE_OPTIONS,
  {
    name: 'log-format',
    value: 'FORMAT',
    choices: ['text', 'json'],
    summary: 'text or json (default: text on a terminal, otherwise json)',
  },
]

/** For commands that show several nodes. */
export const FLEET: readonly Option[] = [
  { name: 'all', summary: 'one row for each node of the list, which is the file `fleet` beside the config' },
  { name: 'fleet', value: 'FILE', summary: 'another list: lines of NAME ADDRESS [TOKEN]' },
]

/** For commands that only talk to a daemon. */
export const REMOTE: readonly Option[] = [
  {
    name: 'on',
    value: 'ADDRESS',
    summary: 'a daemon on another machine: ssh://host, unix:///socket, http://host:port',
  },
  { name: 'token-file', value: 'FILE', summary: 'the token for --on http://' },
]
