// Draws from a Beta distribution, using two Gamma draws (Marsaglia and Tsang 2000). It consumes a varying number
// of uniform numbers, so its random stream must not be shared.

import type { Random } from '../../protocol/plugin/index.ts'

export function drawBeta(a: number, b: number, random: Random): number {
  const x = drawGamma(a, random)
  const y = drawGamma(b, random)
  return x + y === 0 ? a / (a + b) : x / (x + y)
}

function drawGamma(shape: number, random: Random): number {
  // Below 1: a draw at shape + 1, scaled down by a power of a uniform number.
  if (shape < 1) return drawGamma(shape + 1, random) * (1 - random()) ** (1 / shape)
  const d = shape - 1 / 3
  const c = 1 / Math.sqrt(9 * d)
  for (;;) {
    const normal = drawNormal(random)
    const cube = (1 + c * normal) ** 3
    if (cube <= 0) continue
    const uniform = 1 - random()
    if (Math.log(uniform) < 0.5 * normal * normal + d - d * cube + d * Math.log(cube)) return d * cube
  }
}

/** Box-Muller transform. */
function drawNormal(random: Random): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
}
