// Outside plugins: a local file, relative to the config, or an npm package that `waggle plugins add` has installed in
// the plugins folder of the home folder. Wherever they lie, their imports of waggle/plugin resolve to this Waggle, so a
// plugin needs no installation of its own. zod falls back to Waggle's copy.
//
// Nothing here downloads anything, and no peer can name a file: paths come from this node's own config.

import { existsSync, readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { findPackageJSON, registerHooks } from 'node:module'
import { dirname, isAbsolute, join, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { PluginSource } from './load.ts'

interface PluginFilesOptions {
  /** Folder that contains the config file. */
  base: string
  /** Folder in which packages are installed. */
  plugins: string
}

/** The exports of package.json, also for running from source. */
const OWN: Record<string, string> = {
  waggle: '../library/index',
  'waggle/plugin': '../../protocol/plugin/index',
  'waggle/plugin/testing': '../../protocol/plugin/testing/index',
  'waggle/protocol': '../../protocol/index',
}

let isKnown = false

/** Lets all modules import Waggle by name from now on. */
function makeWaggleKnown(): void {
  if (isKnown) return
  isKnown = true
  const ending = import.meta.url.endsWith('.ts') ? '.ts' : '.js'
  registerHooks({
    resolve(specifier, context, next) {
      /** `require` takes paths, `import` takes URLs. */
      const at = (url: string): string => (context.conditions.includes('require') ? fileURLToPath(url) : url)
      const own = OWN[specifier]
      if (own !== undefined) return next(at(new URL(`${own}${ending}`, import.meta.url).href), context)
      if (specifier !== 'zod') return next(specifier, context)
      try {
        return next(specifier, context)
      } catch {
        return next(at(import.meta.resolve(specifier)), context)
      }
    },
    load(url, context, next) {
      const format = isMislabelled(url, context.format) ? AS_MODULE[context.format!] : context.format
      return next(url, { ...context, format })
    },
  })
}

/** What Node calls a file in a folder whose package.json says `"type": "commonjs"`, as `npm init -y` writes it. */
const AS_MODULE: Record<string, string> = {
  commonjs: 'module',
  'commonjs-typescript': 'module-typescript',
}

/** Whether a file of the user's own is a module by what is in it, and not by its folder. */
function isMislabelled(url: string, format: string | null | undefined): boolean {
  if (!format || AS_MODULE[format] === undefined) return false
  if (!/^file:.*\.[jt]s$/.test(url) || url.includes('/node_modules/')) return false
  return /^(?:import\b(?!\s*\()|export\b)/m.test(readFileSync(fileURLToPath(url), 'utf8'))
}

export function createPluginFiles({
  base,
  plugins,
}: PluginFilesOptions): Required<Omit<PluginSource, 'builtIn' | 'gone'>> {
  return {
    async importPlugin(specifier) {
      makeWaggleKnown()
      const isFile = specifier.startsWith('.') || isAbsolute(specifier)
      const path = isFile ? resolve(base, specifier) : await entryOf(specifier, plugins)
      if (!existsSync(path)) throw new Error(`there is no file ${path}`)
      const module = (await import(pathToFileURL(path).href).catch(explained)) as { default?: unknown }
      return defaultOf(module.default)
    },
    hasPackage: (name) => packageOf(name, plugins) !== undefined,
  }
}

/** Node strips types from TypeScript but compiles nothing, and in packages it does not even strip types. */
const NOT_STRIPPED: Record<string, string> = {
  ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX:
    'Node.js only removes types: write it without enums, namespaces and parameter properties, or compile it to JavaScript',
  ERR_UNSUPPORTED_NODE_MODULES_TYPE_STRIPPING:
    'Node.js loads no TypeScript from packages: its author has to publish JavaScript',
}

function explained(cause: Error & { code?: string }): never {
  const advice = NOT_STRIPPED[cause.code ?? '']
  if (advice === undefined) throw cause
  throw new Error(`${cause.message.split('\n')[0]!.replace(/\.$/, '')}. ${advice}`, { cause })
}

/** Without a package.json, Node may load a file as CommonJS; its default export is then one level down. */
function defaultOf(value: unknown): unknown {
  const inner = (value as { default?: unknown } | null | undefined)?.default
  return inner === undefined || (value as { create?: unknown }).create !== undefined ? value : inner
}

/** Path of a package's main export. */
async function entryOf(name: string, folder: string): Promise<string> {
  const description = packageOf(name, folder)
  if (description === undefined)
    throw new Error(`there is no package ${name} in ${folder}; \`waggle plugins add ${name}\` installs it`)
  const { exports, main } = JSON.parse(await readFile(description, 'utf8')) as {
    exports?: unknown
    main?: string
  }
  return join(dirname(description), exportOf(exports) ?? main ?? 'index.js')
}

function packageOf(name: string, folder: string): string | undefined {
  try {
    return findPackageJSON(name, pathToFileURL(join(folder, 'package.json')))
  } catch {
    return undefined
  }
}

/** The first export condition known to Node that leads to a file. */
function exportOf(exports: unknown): string | undefined {
  if (typeof exports === 'string') return exports
  if (typeof exports !== 'object' || exports === null) return undefined
  const table = exports as Record<string, unknown>
  if ('.' in table) return exportOf(table['.'])
  for (const [condition, target] of Object.entries(table))
    if (['node', 'import', 'default', 'module-sync'].includes(condition)) {
      const found = exportOf(target)
      if (found !== undefined) return found
    }
  return undefined
}
