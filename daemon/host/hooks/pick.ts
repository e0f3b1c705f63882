// Selects the next prompts: the picker does it, using the weights of all `weigh` hooks. If it fails, the default picker
// does.

import type { PromptRequest, SelectView } from '../../../protocol/plugin/index.ts'
import type { Active, Window } from '../active.ts'
import type { Call } from '../call.ts'
import { checkAsks, checkWeights } from '../checks.ts'

interface PickParts {
  picker: Active
  /** Selects if the picker fails; may be the picker itself. */
  standIn: Active
  call: Call
  window: Window
  /** Plugins that take part in the round and have the hook. */
  withHook(hook: keyof Active['hooks']): Active[]
  isIn(one: Active): boolean
}

export async function pick(view: SelectView, want: number, parts: PickParts): Promise<PromptRequest[]> {
  const { picker, standIn, call, window } = parts
  const weights = await weightsOf(view, parts)
  const seen: SelectView = weights ? { ...view, weights } : view
  const by = (one: Active) =>
    call(
      one,
      'select',
      window,
      (hooks, context) => hooks.select!(seen, want, context),
      (asks) => checkAsks(asks, view, want),
    )
  if (picker === standIn) return by(picker)
  if (parts.isIn(picker)) {
    const asks = await by(picker).catch(() => undefined)
    if (asks) return asks
  }
  return by(standIn)
}

async function weightsOf(
  { candidates }: SelectView,
  { call, window, withHook }: PickParts,
): Promise<Float64Array | undefined> {
  if (!candidates) return undefined
  let product: Float64Array | undefined
  for (const one of withHook('weigh')) {
    const given = await call(
      one,
      'weigh',
      window,
      (hooks, context) => hooks.weigh!(candidates, context),
      (weights) => checkWeights(weights, candidates.length),
    ).catch(() => undefined)
    if (!given) continue
    product ??= new Float64Array(candidates.length).fill(1)
    for (let i = 0; i < product.length; i++) product[i]! *= given[i]!
  }
  // All-zero weights are ignored, because they would leave no candidate.
  return product?.some((weight) => weight > 0) ? product : undefined
}
