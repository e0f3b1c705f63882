// Settings with which a node takes less memory, and which glibc and V8 read only when a process starts. Therefore the
// program starts itself again: the process stays the same, only its contents are replaced. docs/results/edge.md has what
// each saves.

/**
 * glibc's allocator. By default, the size from which blocks are given back at once rises up to 32 MB; activations of
 * different sizes then leave gaps that nothing fills. Each thread keeps its own heap: what an engine's thread took is then not
 * mixed with the rest, and most of it is given back when the thread ends. Other C libraries ignore these.
 */
export const LEAN_MALLOC = {
  MALLOC_MMAP_THRESHOLD_: '262144',
  MALLOC_TRIM_THRESHOLD_: '262144',
} as const

/** A smaller young generation; code that was not used for a while is dropped. */
export const LEAN_FLAGS = ['--optimize-for-size'] as const

export interface Start {
  /** As in process. */
  platform: string
  env: Readonly<Record<string, string | undefined>>
  execArgv: readonly string[]
  argv: readonly string[]
}

/** Commands that may run a node in this process. */
const NODE_COMMANDS = ['up', 'join', 'relay']

/** How to start again; undefined if it was started so, or where that is no use. What the user has set stays. */
export function leanStart({
  platform,
  env,
  execArgv,
  argv,
}: Start): { argv: string[]; env: Record<string, string | undefined> } | undefined {
  if (platform !== 'linux' || !argv.some((word) => NODE_COMMANDS.includes(word))) return undefined
  if (Object.keys(LEAN_MALLOC).every((name) => env[name] !== undefined)) return undefined
  // A process with a channel to the one that started it would lose it.
  if (env.NODE_CHANNEL_FD !== undefined) return undefined
  const [node = '', ...script] = argv
  return { argv: [node, ...LEAN_FLAGS, ...execArgv, ...script], env: { ...LEAN_MALLOC, ...env } }
}
