import { describe, expect, it } from 'vitest'
import { diceFor, fnv1a64, splitMix64, xoshiro128 } from '../../../plugins/tasks/random.ts'

describe('repeatable chance', () => {
  it('hashes as FNV-1a does', () => {
    expect(fnv1a64('')).toBe(0xcbf29ce484222325n)
    expect(fnv1a64('a')).toBe(0xaf63dc4c8601ec8cn)
    expect(fnv1a64('foobar')).toBe(0x85944171f73967e8n)
  })

  it('expands seeds as SplitMix64 does', () => {
    const next = splitMix64(1234567n)
    expect([next(), next(), next()]).toEqual([
      6457827717110365317n,
      3203168211198807973n,
      9817491932198370423n,
    ])
  })

  it('draws as xoshiro128** does', () => {
    const next = xoshiro128([1, 2, 3, 4])
    const drawn = Array.from({ length: 8 }, next)
    expect(drawn).toEqual([11520, 0, 5927040, 70819200, 2031721883, 1637235492, 1287239034, 3734860849])
  })

  it('is the same for a name and another for another', () => {
    const draws = (name: string) => Array.from({ length: 5 }, () => diceFor(name).below(1000))[0]
    expect(draws('a')).toBe(draws('a'))
    const [a, b] = [diceFor('a'), diceFor('b')]
    expect(Array.from({ length: 8 }, () => a.below(2 ** 32))).not.toEqual(
      Array.from({ length: 8 }, () => b.below(2 ** 32)),
    )
  })

  it('covers a range evenly, ends included', () => {
    const dice = diceFor('even')
    const counts = new Map<number, number>()
    for (let i = 0; i < 6000; i++) {
      const drawn = dice.between(-2, 3)
      counts.set(drawn, (counts.get(drawn) ?? 0) + 1)
    }
    expect([...counts.keys()].sort((x, y) => x - y)).toEqual([-2, -1, 0, 1, 2, 3])
    for (const count of counts.values()) expect(Math.abs(count - 1000)).toBeLessThan(150)
  })

  it('shuffles without losing anything', () => {
    expect(diceFor('s').shuffle([1, 2, 3, 4]).sort()).toEqual([1, 2, 3, 4])
  })
})
