// A network namespace for each of several daemons, joined by a bridge. Linux only, as root, with iproute2.

import { execFileSync } from 'node:child_process'

export interface Networks {
  /** Of the ith daemon, from 0: words that start a program in its network, and its address. */
  of(i: number): { command: readonly string[]; address: string }
  close(): void
}

/** The names carry the process's id, so that two experiments do not meet. */
export function createNetworks(count: number): Networks {
  const bridge = `wb${process.pid}`
  const numbers = Array.from({ length: count }, (_, i) => i)
  const nameOf = (i: number): string => `w${process.pid}n${i}`
  const addressOf = (i: number): string => `10.83.0.${i + 1}`
  const ip = (command: string): void => void execFileSync('ip', command.split(' '), { stdio: 'pipe' })
  ip(`link add ${bridge} type bridge`)
  ip(`link set ${bridge} up`)
  for (const i of numbers) {
    const [name, outside] = [nameOf(i), `v${process.pid}o${i}`]
    ip(`netns add ${name}`)
    ip(`link add ${outside} type veth peer name eth0 netns ${name}`)
    ip(`link set ${outside} master ${bridge}`)
    ip(`link set ${outside} up`)
    for (const command of ['link set lo up', 'link set eth0 up', `addr add ${addressOf(i)}/24 dev eth0`])
      ip(`-n ${name} ${command}`)
  }
  // With a namespace go its links.
  const close = (): void => {
    process.removeListener('exit', close)
    for (const i of numbers) ip(`netns del ${nameOf(i)}`)
    ip(`link del ${bridge}`)
  }
  process.once('exit', close)
  return {
    of: (i) => ({ command: ['ip', 'netns', 'exec', nameOf(i)], address: addressOf(i) }),
    close,
  }
}
