// Output for a long-running program. If the reader stops reading (a pager, a stopped pipe), lines are dropped instead
// of filling the memory, and the number of dropped lines is printed when it reads again.

import type { Output } from '../contract.ts'

const MAX_BYTES = 1024 * 1024

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
      if ((output.writableLength ?? 0) > MAX_BYTES) {
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
