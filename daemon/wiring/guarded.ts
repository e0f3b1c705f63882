// Keeps plugins of the user from changing what they are given: groups are shared, recorded and trained on by others, too.
// Objects and lists are frozen, so that whoever writes into one fails; arrays of numbers cannot be, so they are compared
// after the hook, and put right. Nothing is given as a copy: taint recognizes rollouts by their token arrays.

import type { Hooks } from '../../protocol/plugin/index.ts'
import { createPluginFiles } from '../host/plugin-files.ts'

/** The hooks that are given what others use. All but the last argument are data; that is the context. */
const GUARDED: ReadonlySet<string | symbol> = new Set<keyof Hooks>([
  ...(['receive', 'select', 'weigh', 'extend', 'reward', 'group', 'observe'] as const),
  ...(['advantage', 'modify', 'teach', 'columns', 'commit'] as const),
])

/** See createPluginFiles. */
export function guardedFiles(
  ...where: Parameters<typeof createPluginFiles>
): ReturnType<typeof createPluginFiles> {
  const files = createPluginFiles(...where)
  return { ...files, importPlugin: async (specifier) => guarded(await files.importPlugin(specifier)) }
}

/** The same plugin, if it is one, with hooks that fail where they change what they are given. */
export function guarded<Given>(plugin: Given): Given {
  const { create } = (plugin ?? {}) as { create?: unknown }
  if (typeof create !== 'function') return plugin
  return Object.create(plugin as object, {
    create: { value: (settings: unknown) => guardedHooks(create.call(plugin, settings)) },
  })
}

function guardedHooks(hooks: unknown): unknown {
  if (typeof hooks !== 'object' || hooks === null || hooks instanceof Promise) return hooks
  return new Proxy(hooks, {
    get(target, name) {
      const hook: unknown = Reflect.get(target, name)
      if (typeof hook !== 'function') return hook
      if (!GUARDED.has(name)) return hook.bind(target)
      return (...given: unknown[]) => {
        const check = guard(given.slice(0, -1), { isOwnList: name === 'group' })
        let result: unknown
        try {
          result = hook.apply(target, given)
        } finally {
          if (!(result instanceof Promise)) check()
        }
        return result instanceof Promise ? result.finally(check) : result
      }
    },
  })
}

/** Freezes what is given. Returns a function that throws if numbers in it have been changed since. */
function guard(given: readonly unknown[], { isOwnList }: { isOwnList: boolean }): () => void {
  const numbers: Uint8Array[] = []
  for (const one of given) freeze(isOwnList && Array.isArray(one) ? [...one] : one, numbers)
  const before = Buffer.concat(numbers)
  return () => {
    let [at, hasChanged] = [0, false]
    for (const bytes of numbers) {
      const own = before.subarray(at, at + bytes.length)
      at += bytes.length
      if (own.equals(bytes)) continue
      bytes.set(own)
      hasChanged = true
    }
    if (hasChanged)
      throw new Error(
        'changed tokens or other numbers of rollouts that it was given: return new ones instead',
      )
  }
}

/** Freezes objects and lists, and adds the bytes of the numbers in them. */
function freeze(value: unknown, numbers: Uint8Array[]): void {
  if (value instanceof Int32Array || value instanceof Float32Array)
    numbers.push(new Uint8Array(value.buffer, value.byteOffset, value.byteLength))
  else if (value instanceof Map) for (const one of value.values()) freeze(one, numbers)
  else if (Array.isArray(value)) {
    // Advantages are lists of lists, which are the hook's own.
    if (value.some((one) => typeof one !== 'object' || Array.isArray(one))) return
    for (const one of Object.freeze(value)) freeze(one, numbers)
  } else if (isPlain(value)) for (const one of Object.values(Object.freeze(value))) freeze(one, numbers)
}

function isPlain(value: unknown): value is object {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype
}
