// Long loops over numbers, as calls for a few thousand of them. V8 keeps the compiled code of a function that is called
// often. A long loop within one call it compiles again each time, and until that is done every number in the loop is an
// object: such loops made half of the garbage of a daemon that averages with seven others (one profile each, main thread).

const PART = 4096

/** Goes through 0 to `length`, part by part. The loop over a part should be in a function at the top level of its file. */
export function inParts(length: number, run: (from: number, to: number) => void): void {
  for (let from = 0; from < length; from += PART) run(from, Math.min(length, from + PART))
}

/** The sum of what the parts give. */
export function sumOfParts(length: number, sumOf: (from: number, to: number) => number): number {
  let sum = 0
  for (let from = 0; from < length; from += PART) sum += sumOf(from, Math.min(length, from + PART))
  return sum
}
