// Loaded before a daemon (`node --import`), it makes it a forger: once there is a file, FORGE_ONCE, each step of its
// engine leads as far the other way, and its receipts say so, signed. Its audits are honest: they ask for an engine on
// the processor.

import { existsSync } from 'node:fs'
import { registerHooks } from 'node:module'
import type { Engine } from '../../../daemon/engine/engine.ts'

let isForging = false

function forging(engine: Engine): Engine {
  const lie = async <Report>(call: () => Promise<Report>): Promise<Report> => {
    const before = structuredClone(await engine.weights())
    const report = await call()
    const after = structuredClone(await engine.weights())
    const isMoved = Object.entries(after).some(([name, values]) =>
      values.some((value, i) => value !== before[name]![i]),
    )
    if (!isMoved || !existsSync(process.env.FORGE_ONCE!)) return report
    for (const [name, values] of Object.entries(after))
      for (let i = 0; i < values.length; i++) values[i] = 2 * before[name]![i]! - values[i]!
    await engine.setWeights(after)
    if (!isForging) process.stderr.write(`forging since ${new Date().toISOString()}\n`)
    isForging = true
    return report
  }
  return new Proxy(engine, {
    get(target, name) {
      if (name === 'train')
        return (...asked: Parameters<Engine['train']>) => lie(() => target.train(...asked))
      if (name === 'step') return (...asked: Parameters<Engine['step']>) => lie(() => target.step(...asked))
      return Reflect.get(target, name, target)
    },
  })
}

Object.assign(globalThis, { forging })
registerHooks({
  load(url, context, next) {
    const loaded = next(url, context)
    if (!url.split('?')[0]!.endsWith('/daemon/engine/select.ts')) return loaded
    const honest = 'export async function createEngines('
    const source = String(loaded.source)
    if (!source.includes(honest)) throw new Error('the engines cannot be replaced')
    return {
      ...loaded,
      source: `${source.replace(honest, 'async function createEngines(')}
const lying = async (choice, ...asked) => {
  const all = await createEngines(choice, ...asked)
  return choice.device === 'cpu' ? all : all.map(forging)
}
export { lying as createEngines }
`,
    }
  },
})
