// The locations of all files on disk. With --home, everything is in that directory; otherwise in the XDG directories or
// those that systemd sets. Pure: does not access the disk.
//
//   <config>/config.toml        $XDG_CONFIG_HOME/waggle                    or HOME
//   <state>/identity.key        $XDG_STATE_HOME/waggle, $STATE_DIRECTORY   or HOME
//         /swarm.json           the swarm joined by invite, or a private swarm's key created here
//         /store/               groups, progress, reputation (level)
//         /checkpoints/         one folder per checkpoint
//         /audits/              states behind this node's receipt, if it makes any
//         /runs/                one event file per run
//         /logs/waggle.log      rotated
//         /plugins/             installed plugins
//         /lock                 held while a daemon runs
//         /control-*.token      for the control API over TCP
//         /agents.token         for the agents' gateway
//         /serve.key            for served calls
//   <runtime>/control.sock      $XDG_RUNTIME_DIR/waggle, $RUNTIME_DIRECTORY or HOME; see socketPath. On Windows a pipe

import { createHash } from 'node:crypto'
import { join, resolve } from 'node:path'
import { traitsOf, xdgFolder } from '../platform/index.ts'

export interface Paths {
  /** Absolute path of --home; undefined with the XDG layout. */
  home: string | undefined
  config: string
  state: string
  identity: string
  /** The swarm joined by invite, or the key of a private swarm that was created here. */
  membership: string
  store: string
  checkpoints: string
  audits: string
  runs: string
  logs: string
  logFile: string
  plugins: string
  models: string
  lock: string
  /** Tokens for the control API over TCP, if it is on. */
  readToken: string
  adminToken: string
  /** Token of the agents' gateway, if it is on. */
  agentsToken: string
  /** Key of served calls, if they have an address. */
  serveKey: string
  socket: string
}

interface PathsOptions {
  /** From --home or WAGGLE_HOME. */
  home?: string | undefined
  /** From --config or WAGGLE_CONFIG. */
  config?: string | undefined
}

export interface PathsEnvironment {
  env: Record<string, string | undefined>
  cwd: string
  homedir: string
  tmpdir: string
  uid: number
  platform: string
}

export function resolvePaths(options: PathsOptions, at: PathsEnvironment): Paths {
  const home = options.home === undefined ? undefined : resolve(at.cwd, options.home)
  const xdg = (name: string, fallback: string) => xdgFolder(at, name, fallback)
  // systemd may set several directories, separated by colons; Waggle uses the first.
  const systemd = (name: string) => at.env[name]?.split(':')[0] || undefined
  const state = home ?? systemd('STATE_DIRECTORY') ?? xdg('XDG_STATE_HOME', '.local/state')
  const configDirectory = home ?? systemd('CONFIGURATION_DIRECTORY') ?? xdg('XDG_CONFIG_HOME', '.config')
  const logs = home ? join(home, 'logs') : (systemd('LOGS_DIRECTORY') ?? join(state, 'logs'))
  return {
    home,
    config: options.config ? resolve(at.cwd, options.config) : join(configDirectory, 'config.toml'),
    state,
    identity: join(state, 'identity.key'),
    membership: join(state, 'swarm.json'),
    store: join(state, 'store'),
    checkpoints: join(state, 'checkpoints'),
    audits: join(state, 'audits'),
    runs: join(state, 'runs'),
    logs,
    logFile: join(logs, 'waggle.log'),
    plugins: join(state, 'plugins'),
    models: home ? join(home, 'models') : join(xdg('XDG_CACHE_HOME', '.cache'), 'models'),
    lock: join(state, 'lock'),
    readToken: join(state, 'control-read.token'),
    adminToken: join(state, 'control-admin.token'),
    agentsToken: join(state, 'agents.token'),
    serveKey: join(state, 'serve.key'),
    socket: socketPath(home, state, at),
  }
}

/**
 * On Windows, a pipe named by a digest of the state folder. Elsewhere, in the home if that path is short enough for a
 * socket. Otherwise in the runtime directory, named by a digest of the preferred path, so that the daemon and the
 * commands agree on it.
 */
function socketPath(home: string | undefined, state: string, at: PathsEnvironment): string {
  const digest = (path: string) => createHash('sha256').update(path).digest('hex').slice(0, 16)
  const { hasPipes, socketPathBytes } = traitsOf(at.platform)
  if (hasPipes) return `\\\\.\\pipe\\waggle-${digest(state)}`
  const runtime = at.env.XDG_RUNTIME_DIR
  const short = runtime?.startsWith('/') ? join(runtime, 'waggle') : join(at.tmpdir, `waggle-${at.uid}`)
  const preferred = home
    ? join(home, 'control.sock')
    : at.env.RUNTIME_DIRECTORY
      ? join(at.env.RUNTIME_DIRECTORY.split(':')[0]!, 'control.sock')
      : join(runtime?.startsWith('/') ? join(runtime, 'waggle') : state, 'control.sock')
  if (Buffer.byteLength(preferred) <= socketPathBytes) return preferred
  return join(short, `${digest(preferred)}.sock`)
}
