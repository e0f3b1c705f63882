// Stop strings: an answer ends where its text contains one.

/** Where the first of these strings begins in the text; undefined if it contains none. */
export function stopAt(text: string, stop: readonly string[]): number | undefined {
  const places = stop.map((one) => text.indexOf(one)).filter((at) => at >= 0)
  return places.length > 0 ? Math.min(...places) : undefined
}

/** The start of a text that stays whatever is written after it, because no stop string can begin in it. */
export function beforeStop(text: string, stop: readonly string[]): string {
  const end = stopAt(text, stop)
  if (end !== undefined) return text.slice(0, end)
  const held = stop.map((one) => {
    let length = Math.min(one.length - 1, text.length)
    while (!text.endsWith(one.slice(0, length))) length -= 1
    return length
  })
  return text.slice(0, text.length - Math.max(0, ...held))
}
