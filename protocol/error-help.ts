// What is likely behind each error code, and what cures it. `waggle help <code>` and the page of errors are made from
// this; the type asks for an entry for every code. The message of an error says what happened; this says why it tends to.

import type { ErrorCode } from './errors.ts'

export interface Trouble {
  cause: string
  /** What to do, with the command that does it. */
  cure: string
}

/** code -> what it tends to come from, the likeliest first. */
export const ERROR_HELP: Record<ErrorCode, readonly Trouble[]> = {
  E_USAGE: [
    {
      cause: 'A misspelt command, option or argument, or an option without its value.',
      cure: 'The message names the nearest one that exists; `waggle help <command>` lists all.',
    },
    {
      cause: '`waggle top` without a terminal, as in a pipe or a service.',
      cure: '`waggle status --watch` prints plain text.',
    },
  ],
  E_NOT_RUNNING: [
    {
      cause: 'No daemon was started, or it has ended.',
      cure: '`waggle up`; `waggle logs` says how it ended.',
    },
    {
      cause: 'The daemon runs on another home, or as another user.',
      cure: 'Give the same `--home` as the daemon has. For a service: `--on unix:///run/waggle/control.sock`, as its user.',
    },
  ],
  E_CONFIG: [
    {
      cause:
        'A mistake in `config.toml`, in a variable or in a flag: an unknown key, a wrong type, a value out of range.',
      cure: '`waggle config check` lists all of them with their places; `waggle help config` lists the keys.',
    },
    {
      cause: 'A key that cannot change while the node runs.',
      cure: 'Put it into the file, then `waggle restart`.',
    },
    {
      cause: 'The key file of a private swarm is missing, or is no such key.',
      cure: 'Copy it again from a node of that swarm and check `swarm.key_file`.',
    },
  ],
  E_HOME: [
    {
      cause: 'The directory belongs to somebody else, is not writable, or is on a full or read-only disk.',
      cure: 'Look with `ls -ld` and `df`; change the owner, or choose another `--home`.',
    },
    {
      cause:
        'The path is so long that the control socket does not fit into the 107 bytes that a socket may have.',
      cure: 'Choose a shorter `--home`.',
    },
    {
      cause: 'A token file of the control API cannot be read, or is too short.',
      cure: 'Delete it; the next start makes a new one.',
    },
  ],
  E_HOME_LOCKED: [
    {
      cause: 'A daemon runs on this home already.',
      cure: '`waggle status`; then `waggle stop`, or another `--home`.',
    },
    {
      cause: 'A daemon that was told to stop still saves its checkpoint.',
      cure: 'Wait; `waggle stop` returns when it has ended.',
    },
  ],
  E_IDENTITY: [
    {
      cause: '`identity.key` is damaged, or belongs to another user.',
      cure: 'Restore it from a copy. Moved away, the next start makes a new identity, and peers see a stranger.',
    },
  ],
  E_MODEL: [
    {
      cause: 'A file is missing, cut short, or damaged.',
      cure: 'Copy or download the folder again; `waggle doctor` says which file.',
    },
    {
      cause: 'The architecture, a setting in `config.json`, or the tokenizer is none that Waggle knows.',
      cure: 'The message lists what is supported. Choose another model.',
    },
    {
      cause: 'A name was given where a folder was meant.',
      cure: '`model.path` is taken from the folder that the config file is in; write it with `./`, or whole.',
    },
  ],
  E_CHECKPOINT: [
    {
      cause: 'The home has checkpoints of another model than `model.path` names now.',
      cure: 'Give each model a `--home` of its own, or set `model.path` back.',
    },
    {
      cause:
        'No checkpoint verifies: the disk lost or changed bytes. One damaged checkpoint is passed over by itself.',
      cure: 'Restore the folder from a backup, or move it away and begin anew.',
    },
    {
      cause: 'The weights have become infinite or NaN.',
      cure: 'Go back to an older checkpoint and lower `training.learning_rate`.',
    },
    { cause: 'The disk is full.', cure: 'Make room; checkpoints that exist are not touched.' },
  ],
  E_STORE: [
    {
      cause: 'The disk is full, read-only or failing.',
      cure: '`waggle doctor` looks at it. What waits in memory is written as soon as that works again.',
    },
    { cause: 'A newer version of Waggle wrote the database.', cure: 'Update, or use another `--home`.' },
  ],
  E_PLUGIN: [
    {
      cause: 'No built-in plugin has that name.',
      cure: 'The message lists them. A file begins with `./` or `/`.',
    },
    {
      cause: 'A file or package cannot be loaded, or its default export is no plugin of this API.',
      cure: 'Run `node FILE` to see its own error; `docs/tutorial.md` has a plugin to start from.',
    },
    {
      cause: 'None or several of the corrections give a loss, or a setting is wrong.',
      cure: 'The message names them; exactly one must give a loss, such as `clip`.',
    },
  ],
  E_TASK: [
    { cause: 'No task has that name.', cure: 'The message lists them.' },
    {
      cause: 'The task has no such difficulty.',
      cure: 'The message has the range; without a difficulty the default is taken.',
    },
    {
      cause: '`waggle eval` was asked for a task that the node does not train on.',
      cure: 'Add it to `tasks` and restart.',
    },
  ],
  E_DATASET: [
    {
      cause: 'Rows that are no JSON, lack a key, or have an answer that the verifier does not take.',
      cure: 'The message has the first 20 with file and line; `waggle config check` reads the dataset again.',
    },
    {
      cause: 'The path is wrong: in the config it is relative to the config file.',
      cure: '`waggle config show` has the path that is used.',
    },
    {
      cause: 'It is larger than 256 MiB or a million rows, or a row is larger than 64 KiB.',
      cure: 'Take a part of it, or name several datasets.',
    },
  ],
  E_ENGINE: [
    {
      cause: 'A device was asked for that is not there, or that this version does not drive.',
      cure: '`waggle doctor` says what there is; `--device cpu` always works.',
    },
    {
      cause: 'Memory ran out, above all with long completions or large batches.',
      cure: 'Lower `model.max_completion_tokens`, `rollout.group_size` or `training.own_groups`.',
    },
    {
      cause: 'The policy gives numbers that are not finite: it has diverged.',
      cure: 'Go back to an older checkpoint and lower `training.learning_rate`.',
    },
    {
      cause: 'The optional package of the engine is not installed.',
      cure: 'The message names it and how to install it.',
    },
  ],
  E_PORT: [
    {
      cause: 'Another program, or another node, has the port.',
      cure: 'Choose another in `swarm.listen`, or 0 for any.',
    },
    { cause: 'A port below 1024 without the right to it.', cure: 'Use a higher one.' },
    {
      cause: '`control.listen` can be reached by others.',
      cure: 'Use 127.0.0.1 and ssh (`--on ssh://host`), or set `control.public` if the network is yours.',
    },
  ],
  E_PEER: [
    {
      cause: 'The other node does not run, or is on another network, so that its ID alone cannot be found.',
      cure: 'Look at its `waggle status`; join by the address that it shows, or by an invite.',
    },
    {
      cause: 'A firewall or NAT is between, or the network has no multicast.',
      cure: 'Open the port that the other node listens on; `docs/network.md` has the ways around a NAT.',
    },
    { cause: 'An ID, address or invite was cut off while it was copied.', cure: 'Copy all of it.' },
    {
      cause: 'A node was asked to join itself: both commands used one home.',
      cure: 'Give the second node a `--home` of its own.',
    },
    { cause: '`swarm.enabled` is false.', cure: 'Set it to true and restart.' },
    {
      cause: 'The peer was cut off for what it sent, or is not on the list of a private swarm.',
      cure: '`waggle peers` says which.',
    },
  ],
  E_SWARM_RULES: [
    { cause: 'The swarms have different names.', cure: 'Set `swarm.name` to the other one and restart.' },
    {
      cause: 'One swarm is private and the other is open, or their keys differ.',
      cure: 'Use the `swarm.key_file` of the other, or an invite, which has the key in it.',
    },
    { cause: 'The nodes run versions that do not speak the same protocol.', cure: 'Update both.' },
  ],
  E_CONTROL: [
    {
      cause: 'The daemon is of another version than the command, as after an update.',
      cure: '`waggle restart`.',
    },
    { cause: 'The daemon was busy, stopping, or stuck.', cure: '`waggle status`, then `waggle logs`.' },
    {
      cause: 'The connection by ssh fails, or finds no `waggle` there.',
      cure: 'Try `ssh HOST waggle status` by itself.',
    },
    { cause: 'The socket belongs to another user.', cure: 'Run the command as the user of the daemon.' },
  ],
  E_WIRE: [
    { cause: 'The nodes run versions that do not speak the same protocol.', cure: 'Update both.' },
    {
      cause: 'A group has a text or number that the wire format has no place for.',
      cure: 'That is a mistake in Waggle or in a plugin: report it with `waggle env` and the message.',
    },
  ],
}
