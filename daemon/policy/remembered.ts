// Remembers what was made of short texts that come again and again, such as what an environment shows: its places are few, and
// a peer's group may have hundreds of them to be encoded. The oldest is forgotten first. What is given is shared: not to
// be changed.

/** Longer texts are made anew each time, so that what is remembered stays small. */
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
