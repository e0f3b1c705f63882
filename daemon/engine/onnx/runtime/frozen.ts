// Frozen parameters as a graph's inputs. On the CPU they are fed as they are stored. On a device they are F32.

import type { DecoderSpec } from '../../decoder.ts'
import { asFloats, type BaseWeights, formsOf, isStored } from '../../stored/stored.ts'
import type { Provider } from './provider.ts'
import type { Feeds } from './runtime.ts'

export function frozenOn(provider: Provider, frozen: BaseWeights): BaseWeights {
  if (provider === 'cpu') return frozen
  return Object.fromEntries(Object.entries(frozen).map(([name, values]) => [name, asFloats(values)]))
}

/** The spec as the graphs need it: with the forms of stored matrices, if there are any. */
export function withForms(spec: DecoderSpec, frozen: BaseWeights): DecoderSpec {
  const stored = formsOf(frozen)
  return Object.keys(stored).length === 0 ? spec : { ...spec, stored }
}

/** By the names that `declareStored` gives the inputs. */
export function feedsOf(frozen: BaseWeights): Feeds {
  const feeds: Feeds = {}
  for (const [name, values] of Object.entries(frozen)) {
    if (!isStored(values)) feeds[name] = values
    else if (values.kind === 'halves') feeds[`${name}.halves`] = values.halves
    else {
      feeds[`${name}.numbers`] = values.numbers
      feeds[`${name}.flatNumbers`] = values.numbers
      feeds[`${name}.scales`] = values.scales
      if (values.minimums) feeds[`${name}.minimums`] = values.minimums
    }
  }
  return feeds
}
