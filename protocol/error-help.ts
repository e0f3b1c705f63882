// Likely causes of each error code, and what to do. `waggle help <code>` and the error reference are generated from
// this table, which has an entry for every code. An error's message says what happened; this table says why.

import type { ErrorCode } from './errors.ts'

export interface Trouble {
  cause: string
  /** What to do, with the command that does it. */
  cure: string
}

/** Error code -> usual causes, the most likely first. */
export const ERROR_HELP: Record<ErrorCode, readonly Trouble[]> = {
  E_USAGE: [
    {
      cause: 'A misspelt word, or an option without its value.',
      cure: '`waggle help COMMAND` lists the options.',
    },
    {
      cause: '`waggle top` without a terminal.',
      cure: '`waggle status --watch` prints plain text.',
    },
  ],
  E_NOT_RUNNING: [
    {
      cause: 'No daemon was started, or it has ended.',
      cure: 'Start it with `waggle up`. `waggle logs` shows how it ended.',
    },
    {
      cause: 'The daemon has another home or user.',
      cure: 'Use its `--home`; for a service `--on unix:///run/waggle/control.sock`, as its user.',
    },
  ],
  E_CONFIG: [
    {
      cause: 'A mistake in `config.toml`, a variable or a flag.',
      cure: '`waggle config check` lists every mistake; `waggle help config` lists the keys.',
    },
    {
      cause: 'A key that cannot change while the node runs.',
      cure: 'Put it into the file, then `waggle restart`.',
    },
    {
      cause: 'The key file of a private swarm is missing or contains no key.',
      cure: 'Copy it again from a node of that swarm and check `swarm.key_file`.',
    },
  ],
  E_HOME: [
    {
      cause: 'The directory belongs to another user, or its disk is full or read-only.',
      cure: 'Check `ls -ld` and `df`, or choose another `--home`.',
    },
    {
      cause: 'The path is too long for a socket (at most 107 bytes).',
      cure: 'Choose a shorter `--home`.',
    },
    {
      cause: 'A token file cannot be read, or is too short.',
      cure: 'Delete it; the next start creates a new one.',
    },
  ],
  E_HOME_LOCKED: [
    {
      cause: 'A daemon is already running on this home.',
      cure: 'Check `waggle status`; then use `waggle stop`, or another `--home`.',
    },
    {
      cause: 'A stopping daemon is still saving its checkpoint.',
      cure: 'Wait; `waggle stop` returns when it has ended.',
    },
  ],
  E_IDENTITY: [
    {
      cause: '`identity.key` is damaged, or belongs to another user.',
      cure: 'Restore it from a backup. Without it the next start makes a new identity.',
    },
  ],
  E_MODEL: [
    {
      cause: 'A file is missing, incomplete or damaged.',
      cure: 'Copy or download the model again; `waggle doctor` names the file.',
    },
    {
      cause: 'The architecture, a setting in `config.json`, or the tokenizer is not supported.',
      cure: 'The message lists what is.',
    },
    {
      cause: 'A relative `model.path` is relative to the config file.',
      cure: 'Write `./folder` or an absolute path.',
    },
  ],
  E_CHECKPOINT: [
    {
      cause: 'The checkpoints belong to another model than `model.path`.',
      cure: 'Use another `--home`, or change `model.path` back.',
    },
    {
      cause: 'All checkpoints are damaged.',
      cure: 'Restore a backup, or move the folder away and start again.',
    },
    {
      cause: 'The weights have become infinite or NaN.',
      cure: 'Restore an older checkpoint and lower `training.learning_rate`.',
    },
    { cause: 'The disk is full.', cure: 'Free some space; existing checkpoints are safe.' },
  ],
  E_STORE: [
    {
      cause: 'The disk is full, read-only or failing.',
      cure: 'Run `waggle doctor`; the node writes once the disk works again.',
    },
    {
      cause: 'A newer version of Waggle wrote the database.',
      cure: 'Update Waggle, or use another `--home`.',
    },
  ],
  E_BACKUP: [
    {
      cause: 'The archive is damaged, is cut off, or was not made by `waggle backup`.',
      cure: 'Take another copy of it. Nothing in the home has changed.',
    },
    {
      cause: 'The home has a node already.',
      cure: 'Restore into another --home DIR, or add --force, which moves the files that are there into a folder beside them.',
    },
    {
      cause: 'The home has no node, or the disk has too little room.',
      cure: 'Give the --home of the node, and a file on a disk with room.',
    },
  ],
  E_PLUGIN: [
    {
      cause: 'There is no built-in plugin with that name.',
      cure: '`waggle plugins list` shows them; a path must start with `./` or `/`.',
    },
    {
      cause: 'A file or package cannot be loaded, or its default export is no plugin for this API.',
      cure: 'Run `node FILE` to see the error; `docs/tutorial.md` has an example plugin.',
    },
    {
      cause: 'No correction or more than one gives a loss, or a setting is invalid.',
      cure: 'The message names them. Exactly one correction must give a loss, such as `clip`.',
    },
  ],
  E_TASK: [
    { cause: 'There is no task with that name.', cure: 'The message lists the tasks.' },
    {
      cause: 'The task does not have that difficulty.',
      cure: 'The message gives the range.',
    },
    {
      cause: 'The server of an environment does not answer, or does not speak the protocol in `use`.',
      cure: 'Start it first, and check `url`: followed by /schema (OpenEnv) or /openapi.json (NeMo Gym) it should show JSON.',
    },
    {
      cause: '`waggle eval` named a task that the node does not train on.',
      cure: 'Add it to `tasks` and restart.',
    },
  ],
  E_DATASET: [
    {
      cause: 'Rows are not JSON or CSV, lack a field, or have an answer that the verifier refuses.',
      cure: 'The message lists the first 20 with file and line.',
    },
    {
      cause: 'A path in the config is not relative to the config file.',
      cure: '`waggle config show` prints the resolved path.',
    },
    {
      cause: 'The rows use other field names than `prompt` and `answer`.',
      cure: 'Set `fields`, such as { prompt = "question", answer = "solution" }.',
    },
    {
      cause: 'A verifier file cannot be loaded, throws, or returns no score from 0 to 1.',
      cure: 'The message gives the question; docs/datasets.md has a working example.',
    },
    {
      cause: 'The dataset exceeds 256 MiB or a million rows, or a row 64 KiB.',
      cure: 'Use a part of it, or split it.',
    },
  ],
  E_ENGINE: [
    {
      cause: 'The requested device is not here, or not supported.',
      cure: '`waggle doctor` lists the devices; `--device cpu` always works.',
    },
    {
      cause: 'Memory ran out.',
      cure: 'Lower `model.max_completion_tokens`, `rollout.group_size` or `training.batch_groups`.',
    },
    {
      cause: 'The policy has diverged and gives numbers that are not finite.',
      cure: 'Restore an older checkpoint and lower `training.learning_rate`.',
    },
    {
      cause: 'The optional package of the engine is not installed.',
      cure: 'The message names the package and how to install it.',
    },
  ],
  E_SAMPLER: [
    {
      cause: 'The server of `sampler.url` is not running, still loading, or elsewhere.',
      cure: 'Start it as docs/samplers.md shows; a node that runs waits for it.',
    },
    {
      cause: 'It serves another model or quantization, or ignores adapters.',
      cure: 'Serve the model of `model.path`; raise `sampler.tolerance` only for a quantization.',
    },
    {
      cause: 'The package node-llama-cpp is not installed.',
      cure: 'The message says how to install it.',
    },
  ],
  E_PORT: [
    {
      cause: 'Another program or node uses the port.',
      cure: 'Choose another port in `swarm.listen`, or 0 for any free port.',
    },
    { cause: 'The port is below 1024, which this user may not use.', cure: 'Use a higher port.' },
    {
      cause: '`control.listen` is an address that other machines can reach.',
      cure: 'Use 127.0.0.1 and ssh (`--on ssh://host`), or set `control.public` if you trust the network.',
    },
  ],
  E_PEER: [
    {
      cause: 'The other node is not running, or its ID alone does not find it on another network.',
      cure: 'Join with the address in its `waggle status`, or with an invite.',
    },
    {
      cause: 'A firewall or NAT is in between, or multicast is filtered.',
      cure: 'Open the port of the other node; `docs/network.md` explains NATs.',
    },
    { cause: 'An ID, address or invite was copied incompletely.', cure: 'Copy all of it.' },
    {
      cause: 'A node was asked to join itself, from the same home.',
      cure: 'Use a separate `--home` for the second node.',
    },
    { cause: '`swarm.enabled` is false.', cure: 'Set it to true and restart.' },
    {
      cause: 'The peer was disconnected for what it sent, or is not in `swarm.allow`.',
      cure: '`waggle peers` shows which.',
    },
  ],
  E_SWARM_RULES: [
    { cause: 'The swarms have different names.', cure: 'Set `swarm.name` to the other swarm and restart.' },
    {
      cause: 'One swarm is private and the other is open, or their keys differ.',
      cure: 'Use the `swarm.key_file` of the other node, or an invite, which contains the key.',
    },
    { cause: 'The nodes run incompatible versions.', cure: 'Update both.' },
  ],
  E_CONTROL: [
    {
      cause: 'Daemon and command have different versions.',
      cure: '`waggle restart`.',
    },
    { cause: 'The daemon was busy, stopping, or stuck.', cure: '`waggle status`, then `waggle logs`.' },
    {
      cause: 'The ssh connection fails, or `waggle` is not installed on the other machine.',
      cure: 'Try `ssh HOST waggle status`.',
    },
    { cause: 'The socket belongs to another user.', cure: 'Run the command as the user of the daemon.' },
  ],
  E_WIRE: [
    { cause: 'The nodes run incompatible versions.', cure: 'Update both.' },
    {
      cause: 'A group contains a text or number that the wire format cannot represent.',
      cure: 'A bug in Waggle or a plugin: report the message with `waggle env`.',
    },
  ],
}
