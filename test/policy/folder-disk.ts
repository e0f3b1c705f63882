// A disk in memory with one model folder on it, and files beside it that the loader has no business with. Notes every
// file that is opened.

import type { Disk, DiskFile } from '../../daemon/store/disk.ts'
import type { Folder } from './mutate-model.ts'

const errno = (code: string, path: string): Error => Object.assign(new Error(`${code}: ${path}`), { code })

export function folderDisk(
  folder: Folder,
  links: ReadonlyMap<string, string>,
): { disk: Disk; opened: string[] } {
  const opened: string[] = []
  const outside = new Map([
    ['/outside/secret', Buffer.from('{"secret":true}')],
    ['/outside.safetensors', Buffer.from('secret')],
    ['/etc/passwd', Buffer.from('root')],
  ])
  const find = (path: string): Buffer | undefined =>
    path.startsWith('/model/') ? folder.get(path.slice(7)) : outside.get(path)
  const refuse = async (): Promise<never> => {
    throw errno('EROFS', 'written to')
  }
  const disk: Disk = {
    async realPath(path) {
      let at = path.replace(/\/(?:[^/]+\/\.\.\/)+/g, '/')
      for (let hops = 0; hops < 8; hops++) {
        const target = at.startsWith('/model/') ? links.get(at.slice(7)) : undefined
        if (target === undefined) {
          if (at === '/model' || at === '/' || find(at)) return at
          throw errno('ENOENT', at)
        }
        at = target.startsWith('/') ? target : `/${target.replace(/^(\.\.\/)+/, '')}`
      }
      throw errno('ELOOP', path)
    },
    async stat(path) {
      if (path === '/model' || path === '/') return { kind: 'directory', size: 0 }
      if (path.startsWith('/model/') && links.has(path.slice(7))) return { kind: 'link', size: 0 }
      const bytes = find(path)
      return bytes && { kind: 'file', size: bytes.length }
    },
    async open(path, mode): Promise<DiskFile> {
      if (mode !== 'read') return refuse()
      opened.push(path)
      const bytes = find(path)
      if (!bytes) throw errno('ENOENT', path)
      return {
        async read(into, position) {
          if (!Number.isSafeInteger(position) || position < 0) throw errno('EINVAL', path)
          const part = bytes.subarray(position, position + into.length)
          into.set(part)
          return part.length
        },
        append: refuse,
        sync: refuse,
        async close() {},
      }
    },
    async readDirectory() {
      return [...folder.keys(), ...links.keys()]
    },
    makeDirectory: refuse,
    removeDirectory: refuse,
    unlink: refuse,
    rename: refuse,
    syncDirectory: refuse,
  }
  return { disk, opened }
}
