/**
 * CPU time in ms that no honest call reaches, however busy the machine. A hostile text makes an expression backtrack for
 * seconds, and that is all these tests look for: how fast a call is belongs in scripts/bench.
 */
export const HANGS_MS = 1000

/** The least CPU time that a call takes of this thread, in ms, of three: what else the machine is busy with does not count. */
export function leastCpuMs(call: () => unknown): number {
  const spent = [1, 2, 3].map(() => {
    const began = process.threadCpuUsage()
    call()
    const { user, system } = process.threadCpuUsage(began)
    return (user + system) / 1000
  })
  return Math.min(...spent)
}
