// Output for a program that runs for months: where the reader takes nothing (a pager that waits, a stopped pipe), lines
// are left out rather than kept in memory, and it is told how many once the reader goes on.

import type { Output } from './context.ts'

const MOST_BYTES = 1024 * 1024

export function boundedOutput(output: Output): Output {
  let dropped = 0
  return {
    get isTTY() {
      return output.isTTY
    },
    get columns() {
      return output.columns
    },
    write(text) {
      if ((output.writableLength ?? 0) > MOST_BYTES) {
        dropped += 1
        return false
      }
      if (dropped > 0) {
        const line = `{"v":1,"type":"dropped","lines":${dropped}}\n`
        dropped = 0
        output.write(line)
      }
      return output.write(text)
    },
  }
}
