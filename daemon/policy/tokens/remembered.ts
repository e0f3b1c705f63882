// Caches the encoding of short texts that recur, such as an environment's observations, of which a peer's group may
// contain hundreds. The oldest are evicted first. Results are shared and must not be changed.

/** Longer texts are not cached, which bounds the memory. */
const LONGEST = 256

export function remembered<Made>(make: (text: string) => Made, most: number): (text: string) => Made {
  const known = new Map<string, Made>()
  return (text) => {
    if (text.length > LONGEST) return make(text)
    const found = known.get(text)
    if (found !== undefined) return found
    const made = make(text)
    known.set(text, made)
    if (known.size > most) known.delete(known.keys().next().value!)
    return made
  }
}
