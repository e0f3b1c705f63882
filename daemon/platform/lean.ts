// Settings that make a node use less memory, and the screen take less time. glibc and V8 read them only
// when a process starts, so the program replaces itself (exec): the process stays the same, but starts again.
// docs/results/edge.md has what each setting of a node saves, docs/results/interface.md that of the screen.

/**
 * Settings of glibc's allocator. By default, the size from which freed blocks are returned at once rises up to 32 MB;
 * activations of different sizes then leave gaps that nothing fills. Each thread keeps its own heap, so an engine
 * thread's memory is not mixed with the rest, and most of it is returned when the thread ends. Other C libraries ignore
 * these.
 */
export const LEAN_MALLOC = {
  MALLOC_MMAP_THRESHOLD_: '262144',
  MALLOC_TRIM_THRESHOLD_: '262144',
} as const

/**
 * A young generation of 8 MB at most, and no collection only because the node is quiet for a moment, which would mark the
 * same 60 MB again and again: a third less processor time where weights are averaged (once), for 30 MB.
 */
const FLAGS = ['--max-semi-space-size=8', '--no-memory-reducer']
/**
 * By default V8 marks the whole heap for each 64 MB of arrays, and peers' weights are such arrays. Where they are counted together
 * with the heap, each of eight nodes that average takes 0.100 processor seconds a group instead of 0.120 (once).
 */
const WITH_ARRAYS = '--external-memory-accounted-in-global-limit'
/** Releases of Node.js that know it; others do not start with it. */
const KNOW_ARRAYS = ['24', '25', '26']

/** For this version of Node.js. */
export function leanFlags(version: string): string[] {
  return [...FLAGS, ...(KNOW_ARRAYS.includes(version.split('.')[0]!) ? [WITH_ARRAYS] : [])]
}

/** A young generation of 16 MB from the start: a picture's garbage then seldom outlives it and is not copied. */
export const SCREEN_FLAGS = ['--min-semi-space-size=16', '--max-semi-space-size=16'] as const

export interface Start {
  /** These are as in `process`. */
  platform: string
  env: Readonly<Record<string, string | undefined>>
  execArgv: readonly string[]
  argv: readonly string[]
  versions: { readonly node: string }
}

/** Commands that may run a node in this process. */
const NODE_COMMANDS = ['up', 'join', 'relay']
const SCREEN_COMMAND = 'top'

/** How to start again; undefined if that was already done or is of no use. Settings of the user are kept. */
export function leanStart({
  platform,
  env,
  execArgv,
  argv,
  versions,
}: Start): { argv: string[]; env: Record<string, string | undefined> } | undefined {
  // The process would lose its IPC channel to its parent.
  if (platform !== 'linux' || env.NODE_CHANNEL_FD !== undefined) return undefined
  const [node = '', ...script] = argv
  if (argv.some((word) => NODE_COMMANDS.includes(word))) {
    if (Object.keys(LEAN_MALLOC).every((name) => env[name] !== undefined)) return undefined
    return {
      argv: [node, ...leanFlags(versions.node), ...execArgv, ...script],
      env: { ...LEAN_MALLOC, ...env },
    }
  }
  if (!argv.includes(SCREEN_COMMAND) || execArgv.some((flag) => flag.includes('semi-space'))) return undefined
  return { argv: [node, ...SCREEN_FLAGS, ...execArgv, ...script], env: { ...env } }
}
