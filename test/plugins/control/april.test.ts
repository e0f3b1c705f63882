import { describe, expect, it } from 'vitest'
import april, { setAside } from '../../../plugins/control/april.ts'
import type { LiveRollout } from '../../../protocol/plugin/index.ts'
import { contextOf, withSettings } from '../samples.ts'

const prompt = { task: 'basic_arithmetic', taskVersion: 1, seed: 1, difficulty: 0 }
/** One list an ask: which of its rollouts are done. */
function roundOf(done: boolean[][], want: number) {
  const live: LiveRollout[] = done.flatMap((of, ask) =>
    of.map((isDone, i) => ({
      id: `${ask}.${i}`,
      ask,
      prompt,
      tokens: 5,
      fresh: 5,
      logprob: -1,
      entropy: 1,
      done: isDone,
    })),
  )
  const asks = done.map((of) => ({
    prompt,
    rollouts: of.length,
    live: of.filter((isDone) => !isDone).length,
    done: of.filter((isDone) => isDone).length,
  }))
  return { live, view: { version: 3, asks, want } }
}
const parkedOf = (done: boolean[][], want: number): string[] => {
  const { live, view } = roundOf(done, want)
  const chosen = setAside(live, view)
  expect([...chosen.values()].every((wish) => wish === 'park')).toBe(true)
  return [...chosen.keys()]
}

describe('april', () => {
  it('begins twice as many groups as are wanted, or as told', () => {
    expect(withSettings(april).oversample!(32)).toBe(64)
    expect(withSettings(april, { ratio: 1.5 }).oversample!(5)).toBe(8)
    expect(() => withSettings(april, { ratio: 0.9 })).toThrow()
  })

  it('lets everything run until enough groups are done', () => {
    expect(
      parkedOf(
        [
          [true, false],
          [true, true],
          [false, false],
        ],
        2,
      ),
    ).toEqual([])
  })

  it('then sets all other groups aside, what has ended in them included', () => {
    expect(
      parkedOf(
        [
          [true, true],
          [true, false],
          [true, true],
          [false, false],
        ],
        2,
      ),
    ).toEqual(['1.0', '1.1', '3.0', '3.1'])
  })

  it('keeps exactly as many as are wanted, the oldest first', () => {
    expect(parkedOf([[true], [true], [true], [false]], 2)).toEqual(['2.0', '3.0'])
  })

  it('does not take a group that has lost all its rollouts for one that is done', () => {
    expect(parkedOf([[], [true], [false]], 2)).toEqual([])
  })

  it('tells how much it set aside', async () => {
    const { live, view } = roundOf([[true], [false, true]], 1)
    const context = contextOf()
    await withSettings(april).steer!(live, view, context)
    expect(context.metrics).toEqual({ parked: 2 })
  })
})
