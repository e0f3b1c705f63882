// Frozen parameters as a graph's inputs. On the CPU they are fed as they are stored; on a device they are F32.

import type { DecoderSpec } from '../../decoder.ts'
import { asFloats, type BaseWeights, formsOf, isStored } from '../../stored/stored.ts'
import type { Provider } from './provider.ts'
import type { Feeds } from './runtime.ts'

export function frozenOn(provider: Provider, frozen: BaseWeights): BaseWeights {
  if (provider === 'cpu') return frozen
  return Object.fromEntries(Object.entries(frozen).map(([name, values]) => [name, asFloats(values)]))
}

/** The spec that graphs are built from: includes the forms of stored matrices, if there are any. */
export function withForms(spec: DecoderSpec, frozen: BaseWeights): DecoderSpec {
  const stored = formsOf(frozen)
  return Object.keys(stored).length === 0 ? spec : { ...spec, stored }
}

/** Whether a graph's fixed inputs have the same content in both. */
export function sharesFixed({ stored = {} }: DecoderSpec, a: Feeds, b: Feeds): boolean {
  const parts = ['numbers', 'scales', 'minimums']
  return Object.keys(stored).every((name) =>
    parts.every((part) => a[`${name}.${part}`] === b[`${name}.${part}`]),
  )
}

/** The frozen parameters, under the input names that `declareStored` uses. */
export function feedsOf(frozen: BaseWeights): Feeds {
  const feeds: Feeds = {}
  for (const [name, values] of Object.entries(frozen)) {
    if (!isStored(values)) feeds[name] = values
    else if (values.kind === 'halves') feeds[`${name}.halves`] = values.halves
    else {
      const { numbers, scales, minimums } = values
      Object.assign(feeds, { [`${name}.numbers`]: numbers, [`${name}.rowNumbers`]: numbers })
      Object.assign(feeds, { [`${name}.scales`]: scales, [`${name}.rowScales`]: scales })
      if (minimums)
        Object.assign(feeds, { [`${name}.minimums`]: minimums, [`${name}.rowMinimums`]: minimums })
    }
  }
  return feeds
}
