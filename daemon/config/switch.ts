/** A switch in a variable or a flag: 1, true, yes, on; 0, false, no, off or nothing. Undefined for any other text. */
export function readSwitch(text: string): boolean | undefined {
  const word = text.toLowerCase()
  if (['1', 'true', 'yes', 'on'].includes(word)) return true
  return ['0', 'false', 'no', 'off', ''].includes(word) ? false : undefined
}
