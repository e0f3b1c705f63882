// A disk in memory that forgets what was not synced, as a real one does when the power fails. Any operation can be
// the last one, or can fail with an errno code. Deliberately harsher than ext4: names and data survive or not
// independently of each other, and data in any prefix, torn, or as zeros.

import { basename, dirname } from 'node:path/posix'
import type { Disk, DiskFile } from '../../daemon/store/disk.ts'
import { seeded } from './random.ts'

interface FileNode {
  kind: 'file'
  durable: Uint8Array
  /** Appended and not yet synced. */
  pending: Uint8Array[]
}
interface DirectoryNode {
  kind: 'directory'
  durable: Map<string, Node>
  current: Map<string, Node>
  /** Changes since the last sync, in order; each is atomic. */
  pending: Array<(entries: Map<string, Node>) => void>
}
type Node = FileNode | DirectoryNode

export class PowerCut extends Error {
  readonly code = 'POWER'
}

/** What of the unsynced survives: [names, data]; a function decides each by chance. */
export type Survival = { names: 'all' | 'none' | (() => number); data: 'all' | 'none' | (() => number) }

export class SimulatedDisk implements Disk {
  /** Operations so far; every method counts as one, reads too. */
  operations = 0
  /** The operation with this number, and any after it, throws a PowerCut. */
  cutAt = Number.POSITIVE_INFINITY
  /** Returns an errno code to fail an operation with. */
  fault: (operation: string, path: string, count: number) => string | undefined = () => undefined
  /** Bytes that fit. */
  capacity = Number.POSITIVE_INFINITY
  /** For control runs: pretends to sync. */
  lies = { sync: false, syncDirectory: false }
  root: DirectoryNode = directory()

  /** Bytes that are in use. */
  get used(): number {
    return this.#used(this.root)
  }

  async open(path: string, mode: 'read' | 'create'): Promise<DiskFile> {
    this.#count('open', path)
    const parent = this.#directory(dirname(path), 'open')
    const name = basename(path)
    const found = parent.current.get(name)
    if (mode === 'create') {
      if (found) throw failure('EEXIST', 'open', path)
      const node: FileNode = { kind: 'file', durable: new Uint8Array(), pending: [] }
      change(parent, (entries) => entries.set(name, node))
      return this.#file(node, path)
    }
    if (!found) throw failure('ENOENT', 'open', path)
    if (found.kind !== 'file') throw failure('EISDIR', 'open', path)
    return this.#file(found, path)
  }

  async stat(path: string) {
    this.#count('stat', path)
    const node = this.#find(path)
    return node && { kind: node.kind, size: node.kind === 'file' ? sizeOf(node) : 0 }
  }
  async realPath(path: string) {
    this.#count('realPath', path)
    if (!this.#find(path)) throw failure('ENOENT', 'realpath', path)
    return path
  }
  async readDirectory(path: string) {
    this.#count('readDirectory', path)
    return [...this.#directory(path, 'scandir').current.keys()]
  }
  async makeDirectory(path: string) {
    this.#count('makeDirectory', path)
    const parent = this.#directory(dirname(path), 'mkdir')
    if (parent.current.has(basename(path))) throw failure('EEXIST', 'mkdir', path)
    const node = directory()
    change(parent, (entries) => entries.set(basename(path), node))
  }
  async removeDirectory(path: string) {
    this.#count('removeDirectory', path)
    if (this.#directory(path, 'rmdir').current.size) throw failure('ENOTEMPTY', 'rmdir', path)
    change(this.#directory(dirname(path), 'rmdir'), (entries) => entries.delete(basename(path)))
  }
  async unlink(path: string) {
    this.#count('unlink', path)
    const parent = this.#directory(dirname(path), 'unlink')
    if (parent.current.get(basename(path))?.kind !== 'file') throw failure('ENOENT', 'unlink', path)
    change(parent, (entries) => entries.delete(basename(path)))
  }
  async rename(from: string, to: string) {
    this.#count('rename', from)
    if (dirname(from) !== dirname(to)) throw failure('EXDEV', 'rename', from)
    const parent = this.#directory(dirname(from), 'rename')
    const node = parent.current.get(basename(from))
    const there = parent.current.get(basename(to))
    if (!node) throw failure('ENOENT', 'rename', from)
    if (there?.kind === 'directory' && there.current.size) throw failure('ENOTEMPTY', 'rename', to)
    change(parent, (entries) => {
      entries.delete(basename(from))
      entries.set(basename(to), node)
    })
  }
  async syncDirectory(path: string) {
    this.#count('syncDirectory', path)
    if (this.lies.syncDirectory) return
    const node = this.#directory(path, 'fsync')
    node.durable = new Map(node.current)
    node.pending = []
  }

  /** The disk as it is found after the power came back. */
  afterPowerCut({ names, data }: Survival): SimulatedDisk {
    const survives = (rule: Survival['names']) => rule === 'all' || (rule !== 'none' && rule() < 0.5)
    const revive = (node: Node): Node => {
      if (node.kind === 'file') return { kind: 'file', durable: tear(node, data), pending: [] }
      const entries = new Map(node.durable)
      for (const apply of node.pending) if (survives(names)) apply(entries)
      const revived = new Map([...entries].map(([name, child]) => [name, revive(child)] as const))
      return { kind: 'directory', durable: revived, current: new Map(revived), pending: [] }
    }
    const disk = new SimulatedDisk()
    disk.root = revive(this.root) as DirectoryNode
    return disk
  }

  /** Changes a file's bytes behind everyone's back. */
  corrupt(path: string, change: (bytes: Uint8Array) => Uint8Array): void {
    const node = this.#find(path)
    if (node?.kind !== 'file') throw failure('ENOENT', 'corrupt', path)
    node.durable = change(Uint8Array.from(content(node)))
    node.pending = []
  }

  /** Every file's path, sorted. */
  files(): string[] {
    const walk = (node: Node, path: string): string[] =>
      node.kind === 'file'
        ? [path]
        : [...node.current].flatMap(([name, child]) => walk(child, `${path}/${name}`))
    return walk(this.root, '').sort()
  }

  #file(node: FileNode, path: string): DiskFile {
    return {
      read: async (into, position) => {
        this.#count('read', path)
        const bytes = content(node).subarray(position, position + into.length)
        into.set(bytes)
        return bytes.length
      },
      append: async (bytes) => {
        this.#count('append', path)
        const room =
          this.capacity === Number.POSITIVE_INFINITY ? this.capacity : this.capacity - this.#used(this.root)
        // A full disk takes what fits before it says so, as write(2) does.
        node.pending.push(Uint8Array.from(bytes.subarray(0, Math.min(bytes.length, Math.max(0, room)))))
        if (bytes.length > room) throw failure('ENOSPC', 'write', path)
      },
      sync: async () => {
        this.#count('sync', path)
        if (this.lies.sync) return
        node.durable = content(node)
        node.pending = []
      },
      close: async () => this.#count('close', path),
    }
  }
  #used(node: Node): number {
    if (node.kind === 'file') return sizeOf(node)
    return [...node.current.values()].reduce((sum, child) => sum + this.#used(child), 0)
  }
  #count(operation: string, path: string): void {
    this.operations++
    if (this.operations >= this.cutAt) throw new PowerCut(`power cut at operation ${this.operations}`)
    const code = this.fault(operation, path, this.operations)
    if (code) throw failure(code, operation, path)
  }
  #find(path: string): Node | undefined {
    let node: Node | undefined = this.root
    for (const part of path.split('/').filter(Boolean)) {
      if (node?.kind !== 'directory') return undefined
      node = node.current.get(part)
    }
    return node
  }
  #directory(path: string, operation: string): DirectoryNode {
    const node = this.#find(path)
    if (!node) throw failure('ENOENT', operation, path)
    if (node.kind !== 'directory') throw failure('ENOTDIR', operation, path)
    return node
  }
}

/** What may be left of the unsynced: the extremes, and by chance. */
export function survivals(seed: number, chances: number): Survival[] {
  const extremes = (['all', 'none'] as const).flatMap((names) =>
    (['all', 'none'] as const).map((data) => ({ names, data })),
  )
  return [
    ...extremes,
    ...Array.from({ length: chances }, (_, i) => {
      const random = seeded(seed * 1000 + i)
      return { names: random, data: random }
    }),
  ]
}

function directory(): DirectoryNode {
  return { kind: 'directory', durable: new Map(), current: new Map(), pending: [] }
}

function change(node: DirectoryNode, apply: (entries: Map<string, Node>) => void): void {
  apply(node.current)
  node.pending.push(apply)
}

function sizeOf({ durable, pending }: FileNode): number {
  return pending.reduce((sum, bytes) => sum + bytes.length, durable.length)
}

function content(node: FileNode): Uint8Array {
  return node.pending.length ? Uint8Array.from(Buffer.concat([node.durable, ...node.pending])) : node.durable
}

/** The bytes of a file after a power cut: all of the unsynced, none, a part, or its length but zeros. */
function tear(node: FileNode, data: Survival['data']): Uint8Array {
  const whole = content(node)
  if (data === 'all') return whole
  if (data === 'none') return node.durable
  const kept = node.durable.length + Math.floor(data() * (whole.length - node.durable.length + 1))
  if (data() < 0.5) return whole.slice(0, kept)
  return whole.slice().fill(0, kept)
}

function failure(code: string, operation: string, path: string): Error {
  return Object.assign(new Error(`${code}: ${operation} '${path}'`), { code })
}
