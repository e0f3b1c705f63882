// Options that several commands have.

import type { Option } from '../command.ts'

export const SET: Option = {
  name: 'set',
  value: 'KEY=VALUE',
  repeat: true,
  summary: 'set any config key, such as training.learning_rate=3e-4',
}

/** Options that stand for config keys. */
export const NODE_OPTIONS: readonly Option[] = [
  {
    name: 'preset',
    value: 'NAME',
    key: 'preset',
    summary: 'tiny, standard, large or gpu; see `waggle doctor`',
  },
  { name: 'name', value: 'NAME', key: 'node.name', summary: 'what this node calls itself' },
  {
    name: 'model',
    value: 'MODEL',
    key: 'model.path',
    summary: 'the model: a folder, or a name on the hub such as org/name or org/name@revision',
  },
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

/** For commands that use a model without a node. */
export const MODEL_OPTIONS: readonly Option[] = NODE_OPTIONS.filter(({ name }) =>
  ['model', 'device', 'threads', 'set'].includes(name),
)

export const SAMPLING: readonly Option[] = [
  {
    name: 'temperature',
    value: 'T',
    summary: "0 takes the most likely token; the model's own default if left out",
  },
  { name: 'top-p', value: 'P', summary: 'only the most likely tokens that together have this share' },
  { name: 'top-k', value: 'N', summary: 'only so many of the most likely tokens' },
  { name: 'max-tokens', value: 'N', summary: 'tokens of an answer at most, 256 by default' },
  { name: 'min-p', value: 'P', summary: 'only tokens at least so likely, next to the most likely one' },
  { name: 'stop', value: 'TEXT', repeat: true, summary: 'end with this text; may be given again' },
  { name: 'seed', value: 'N', summary: 'the same seed gives the same answer' },
]

export const RUN_OPTIONS: readonly Option[] = [
  ...NODE_OPTIONS,
  { name: 'log-format', value: 'FORMAT', summary: 'text or json; by default text on a terminal, else json' },
]

/** For commands that talk to a daemon and nothing else. */
export const REMOTE: readonly Option[] = [
  {
    name: 'on',
    value: 'ADDRESS',
    summary: 'a daemon elsewhere: ssh://host, unix:///socket, http://host:port',
  },
  { name: 'token-file', value: 'FILE', summary: 'the token for --on http://' },
]
