// Sizes that are unknown while a graph is built: polynomials with integer coefficients over named symbols, such as
// groups * prefix + groups * rows * segment. So one compiled graph serves every batch size and length.

/** A size: a number, or a polynomial in symbols. */
export type Dimension = number | Polynomial

/** The values of the symbols in one run. */
export type Bindings = Readonly<Record<string, number>>

export interface Polynomial {
  /** Monomial -> coefficient. A monomial is its symbols in order, joined by `*`; '' is the constant term. */
  readonly terms: ReadonlyMap<string, number>
  /** Equal for equal polynomials, and only for these. */
  readonly key: string
}

function polynomial(terms: Map<string, number>): Dimension {
  const kept = [...terms].filter(([, coefficient]) => coefficient !== 0).sort(([a], [b]) => (a < b ? -1 : 1))
  if (kept.length === 0) return 0
  if (kept.length === 1 && kept[0]![0] === '') return kept[0]![1]
  const key = kept
    .map(([monomial, c]) => (monomial === '' ? `${c}` : c === 1 ? monomial : `${c}*${monomial}`))
    .join('+')
  return { terms: new Map(kept), key }
}

const termsOf = (d: Dimension): ReadonlyMap<string, number> =>
  typeof d === 'number' ? new Map([['', d]]) : d.terms

export function symbol(name: string): Dimension {
  return polynomial(new Map([[name, 1]]))
}

export function plus(...parts: readonly Dimension[]): Dimension {
  const sum = new Map<string, number>()
  for (const part of parts) for (const [m, c] of termsOf(part)) sum.set(m, (sum.get(m) ?? 0) + c)
  return polynomial(sum)
}

export function minus(a: Dimension, b: Dimension): Dimension {
  return plus(a, times(b, -1))
}

export function times(...factors: readonly Dimension[]): Dimension {
  let product: ReadonlyMap<string, number> = new Map([['', 1]])
  for (const factor of factors) {
    const next = new Map<string, number>()
    for (const [m1, c1] of product) {
      for (const [m2, c2] of termsOf(factor)) {
        const monomial = [...m1.split('*'), ...m2.split('*')].filter(Boolean).sort().join('*')
        next.set(monomial, (next.get(monomial) ?? 0) + c1 * c2)
      }
    }
    product = next
  }
  return polynomial(new Map(product))
}

export function sameDimension(a: Dimension, b: Dimension): boolean {
  return showDimension(a) === showDimension(b)
}

export function showDimension(d: Dimension): string {
  return typeof d === 'number' ? `${d}` : d.key
}

/** Whether a size depends on a symbol. */
export function dependsOn(d: Dimension, name: string): boolean {
  return [...termsOf(d).keys()].some((monomial) => monomial.split('*').includes(name))
}

/** The value of a size, given values for its symbols. Throws for a symbol without a value. */
export function boundSize(d: Dimension, bindings: Bindings): number {
  if (typeof d === 'number') return d
  let sum = 0
  for (const [monomial, coefficient] of d.terms) {
    let product = coefficient
    for (const name of monomial.split('*')) {
      if (name === '') continue
      const value = bindings[name]
      if (value === undefined) throw new Error(`size ${d.key} needs the symbol "${name}"`)
      product *= value
    }
    sum += product
  }
  return sum
}
