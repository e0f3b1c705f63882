// An in-memory database for experiments and simulations.

import type { Database, Namespace } from './database.ts'

export function createVolatileDatabase(): Database {
  const namespaces = new Map<string, Map<string, Uint8Array>>()
  const namespace = (name: string): Namespace => {
    const values = namespaces.get(name) ?? new Map<string, Uint8Array>()
    namespaces.set(name, values)
    const write: Namespace['write'] = (key, value) => {
      if (value === undefined) values.delete(key)
      else values.set(key, value)
    }
    return {
      get: async (key) => values.get(key),
      put: async (key, value) => write(key, value),
      del: async (key) => write(key, undefined),
      write,
      async *entries({ gte = '', lt, reverse = false, limit = Number.POSITIVE_INFINITY } = {}) {
        const keys = [...values.keys()].filter((key) => key >= gte && (lt === undefined || key < lt)).sort()
        if (reverse) keys.reverse()
        for (const key of keys.slice(0, limit)) yield [key, values.get(key)!]
      },
    }
  }
  return {
    namespace,
    failure: undefined,
    async flush() {},
    async readAll() {},
    async compact() {},
    async close() {},
  }
}
