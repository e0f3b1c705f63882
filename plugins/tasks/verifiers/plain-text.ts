// Text comparison: composed characters (NFC), each run of white space as one space, none at the ends.

import { trimSpaces } from '../answer.ts'

/** Longer answers are wrong. */
export const MAX_TEXT_CHARS = 4096

export function plainText(text: string, ignoreCase: boolean): string {
  const spaced = trimSpaces(text.normalize('NFC')).replace(/[\s\u001c-\u001f\u0085]+/g, ' ')
  // Upper case first, so that "ß" and "SS" are equal, as under Unicode case folding.
  return ignoreCase ? spaced.toUpperCase().toLowerCase() : spaced
}
