// An interpreter for Brainfuck programs without input: 8-bit cells that wrap, a bounded tape, a limit on steps.

const TAPE_CELLS = 30_000

/** The program's output; null if it leaves the tape, has unmatched brackets, or exceeds the step limit. */
export function runBrainfuck(program: string, { maxSteps = 1_000_000 } = {}): string | null {
  const jumps = matchBrackets(program)
  if (!jumps) return null
  const tape = new Uint8Array(TAPE_CELLS)
  let [cell, output] = [0, '']
  let steps = 0
  for (let at = 0; at < program.length; at++) {
    if (++steps > maxSteps) return null
    switch (program[at]) {
      case '>':
        if (++cell >= TAPE_CELLS) return null
        break
      case '<':
        if (--cell < 0) return null
        break
      case '+':
        tape[cell]!++
        break
      case '-':
        tape[cell]!--
        break
      case '.':
        output += String.fromCharCode(tape[cell]!)
        break
      case '[':
        if (tape[cell] === 0) at = jumps.get(at)!
        break
      case ']':
        if (tape[cell] !== 0) at = jumps.get(at)!
        break
    }
  }
  return output
}

function matchBrackets(program: string): Map<number, number> | null {
  const jumps = new Map<number, number>()
  const open: number[] = []
  for (let at = 0; at < program.length; at++) {
    if (program[at] === '[') open.push(at)
    if (program[at] !== ']') continue
    const start = open.pop()
    if (start === undefined) return null
    jumps.set(start, at)
    jumps.set(at, start)
  }
  return open.length === 0 ? jumps : null
}
