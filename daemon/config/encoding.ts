// Whether bytes are text in UTF-8, and what they seem to be if not.

import { isUtf8 } from 'node:buffer'

// Plain letters in UTF-16 are valid UTF-8 with a zero beside each.
const isText = (part: Buffer): boolean => isUtf8(part) && !part.includes(0)

/** The first line that is not UTF-8, and what the bytes seem to be; undefined if all is. */
export function encodingProblem(bytes: Buffer): { line: number; message: string } | undefined {
  if (isText(bytes)) return undefined
  let [line, from] = [1, 0]
  for (let end = bytes.indexOf(10); end >= 0; end = bytes.indexOf(10, from)) {
    if (!isText(bytes.subarray(from, end))) break
    line++
    from = end + 1
  }
  return { line, message: `not UTF-8: it seems to be ${guess(bytes.subarray(0, 4096))}` }
}

function guess(start: Buffer): string {
  const zeros = start.filter((byte) => byte === 0).length
  if (zeros > start.length / 4) return 'UTF-16; save it as UTF-8'
  return /^(PK\x03\x04|\x1f\x8b)/.test(start.toString('latin1'))
    ? 'a spreadsheet or an archive; save it as text'
    : 'Latin-1; save it as UTF-8'
}
