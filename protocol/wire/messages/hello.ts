// What two nodes tell each other when they connect, over a stream of protocol /waggle/hello/1: the swarm's name and
// rules, so that a mismatch can be explained, and some contacts, so that the swarm stays connected if the node that
// all joined through goes away. Not signed: the connection authenticates the peer, which speaks only for itself.

import { readCbor, writeCbor } from '../cbor.ts'
import { malformed } from '../fault.ts'
import { Fields, list } from '../fields.ts'
import { MAJOR, MINOR } from '../frame.ts'
import { TASK_NAME } from '../limits.ts'
import { publicKeyOf } from '../peer-id.ts'

export const HELLO_PROTOCOL = '/waggle/hello/1'
/** Eight contacts with four addresses of 128 bytes are 4 KiB; 64 tasks take another 5. */
export const MAX_HELLO_BYTES = 16_384
export const MAX_CONTACTS = 8
export const MAX_ADDRESSES = 4
const MAX_TASKS = 64
const MAX_ADDRESS_CHARS = 256
export const SWARM_NAME = /^[a-z0-9][a-z0-9-]{0,31}$/

/** What the nodes of a swarm must agree on to use each other's groups. */
export interface Rules {
  swarm: string
  tasks: Array<{ name: string; version: number }>
}

export interface Contact {
  peerId: string
  /** Multiaddrs without the peer ID; only their length is checked. */
  addresses: string[]
}

export interface Hello extends Rules {
  /** [major, minor] of the wire. */
  protocol: [number, number]
  contacts: Contact[]
}

export function encodeHello(hello: Omit<Hello, 'protocol'>): Uint8Array {
  return writeCbor({
    protocol: [MAJOR, MINOR],
    swarm: hello.swarm,
    tasks: hello.tasks.slice(0, MAX_TASKS).map(({ name, version }) => [name, version]),
    contacts: hello.contacts
      .slice(0, MAX_CONTACTS)
      .map(({ peerId, addresses }) => [
        peerId,
        addresses.filter((address) => address.length <= MAX_ADDRESS_CHARS).slice(0, MAX_ADDRESSES),
      ]),
  })
}

/** Throws WireFault. Unknown fields are skipped. */
export function decodeHello(bytes: Uint8Array): Hello {
  if (bytes.length > MAX_HELLO_BYTES) throw malformed('hello too long')
  const fields = Fields.of(readCbor(bytes), Number.POSITIVE_INFINITY)
  const [major, minor] = list(fields.get('protocol'), 2, 2)
  if (typeof major !== 'number' || typeof minor !== 'number') throw malformed('protocol')
  return {
    protocol: [major, minor],
    swarm: fields.name('swarm', SWARM_NAME),
    tasks: list(fields.get('tasks'), 0, MAX_TASKS).map((entry) => {
      const [name, version] = list(entry, 2, 2)
      if (typeof name !== 'string' || !TASK_NAME.test(name)) throw malformed('task')
      if (typeof version !== 'number' || version < 1) throw malformed('task version')
      return { name, version }
    }),
    contacts: list(fields.get('contacts'), 0, MAX_CONTACTS).map(readContact),
  }
}

export function readContact(entry: Parameters<typeof list>[0]): Contact {
  const [peerId, addresses] = list(entry, 2, 2)
  if (typeof peerId !== 'string' || publicKeyOf(peerId) === undefined) throw malformed('contact')
  return {
    peerId,
    addresses: list(addresses, 0, MAX_ADDRESSES).map((address) => {
      if (typeof address !== 'string' || address.length > MAX_ADDRESS_CHARS) throw malformed('address')
      return address
    }),
  }
}

/**
 * Why two nodes cannot use each other's groups, naming the difference; undefined if they can. Different sets of tasks
 * are fine as long as they have some in common.
 */
export function rulesMismatch(
  ours: Rules,
  theirs: Rules & { protocol: [number, number] },
): string | undefined {
  if (theirs.protocol[0] !== MAJOR) return `it speaks protocol ${theirs.protocol[0]}, this node ${MAJOR}`
  if (theirs.swarm !== ours.swarm) return `it is in the swarm "${theirs.swarm}", this node in "${ours.swarm}"`
  const versions = new Map(ours.tasks.map(({ name, version }) => [name, version]))
  // A relay has no tasks and is compatible with every swarm of its name.
  if (ours.tasks.length === 0 || theirs.tasks.length === 0) return undefined
  if (theirs.tasks.some(({ name, version }) => versions.get(name) === version)) return undefined
  const others = theirs.tasks.filter(({ name }) => versions.has(name))
  if (others.length > 0) {
    const said = others
      .slice(0, 4)
      .map(({ name, version }) => `${name} ${version} (here ${versions.get(name)})`)
    return `its tasks have other versions: ${said.join(', ')}`
  }
  const names = (rules: Rules) => rules.tasks.slice(0, 6).map(({ name }) => name)
  return `it has other tasks: ${names(theirs).join(', ')}; this node: ${names(ours).join(', ')}`
}
