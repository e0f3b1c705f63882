import { describe, expect, it } from 'vitest'
import { createWriteQueue, type Writes } from '../../daemon/store/database/write-queue.ts'

/** A queue whose disk and timer the test moves by hand. */
function setUp({ maxWrites = 4 } = {}) {
  const disk = new Map<string, Uint8Array>()
  const batches: string[][] = []
  const logged: string[] = []
  const world = { failing: false, recovered: 0, timers: [] as Array<{ run: () => void; ms: number }> }
  const queue = createWriteQueue(
    { maxWrites, delayMs: 5, retryMs: 100 },
    {
      async write(writes: Writes) {
        await Promise.resolve()
        if (world.failing) throw new Error('the disk is full')
        batches.push([...writes.keys()])
        for (const [key, value] of writes) value ? disk.set(key, value) : disk.delete(key)
      },
      async recover() {
        world.recovered++
      },
      later(run, ms) {
        const timer = { run, ms }
        world.timers.push(timer)
        return () => {
          world.timers = world.timers.filter((other) => other !== timer)
        }
      },
      log: (level, message) => logged.push(`${level}: ${message}`),
    },
  )
  const tick = async () => {
    const timer = world.timers.shift()
    timer?.run()
    for (let i = 0; i < 50; i++) await Promise.resolve()
    return timer?.ms
  }
  return { queue, disk, batches, logged, world, tick }
}

const value = (n: number) => Uint8Array.of(n)

describe('small writes', () => {
  it('go out together after a moment, the last one to a key alone', async () => {
    const { queue, disk, batches, tick } = setUp()
    queue.write('a', value(1))
    queue.write('b', value(2))
    queue.write('a', value(3))
    expect(disk.size).toBe(0)
    expect(await tick()).toBe(5)
    expect(batches).toEqual([['b', 'a']])
    expect(disk.get('a')).toEqual(value(3))
  })

  it('go out at once when enough wait, and when somebody waits for them', async () => {
    const { queue, batches, world } = setUp()
    for (const key of ['a', 'b', 'c', 'd', 'e']) queue.write(key, value(1))
    await queue.flush()
    expect(batches).toEqual([['a', 'b', 'c', 'd'], ['e']])
    expect(world.timers).toEqual([])
  })
})

describe('when the disk fails', () => {
  it('everything is kept, tried again with growing pauses, and written in the end', async () => {
    const { queue, disk, logged, world, tick } = setUp()
    world.failing = true
    queue.write('a', value(1))
    await expect(queue.flush()).rejects.toThrow('full')
    queue.write('a', value(2))
    queue.write('b', undefined)
    expect(queue.failure).toBeInstanceOf(Error)
    expect(queue.waiting('a')).toEqual([value(2)])
    expect(queue.waiting('b')).toEqual([undefined])
    const pauses = []
    for (let i = 0; i < 8; i++) pauses.push(await tick())
    expect(pauses).toEqual([100, 200, 400, 800, 1600, 3200, 3200, 3200])
    expect(logged).toEqual(['error: the database cannot be written: the disk is full'])
    world.failing = false
    await tick()
    expect(disk.get('a')).toEqual(value(2))
    expect(queue.failure).toBeUndefined()
    expect(queue.waiting('a')).toBeUndefined()
    expect(world.recovered).toBe(9)
    expect(logged.at(-1)).toBe('info: the database can be written again')
    queue.write('c', value(3))
    await queue.close()
    expect(world.timers).toEqual([])
    expect(disk.has('c')).toBe(true)
  })

  it('closing says so, and stops trying', async () => {
    const { queue, world } = setUp()
    world.failing = true
    queue.write('a', value(1))
    await expect(queue.close()).rejects.toThrow('full')
    expect(world.timers).toEqual([])
  })
})
