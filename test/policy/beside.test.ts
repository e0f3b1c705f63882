// Other weights of the model beside the policy: in which order they reach the engine, and when it ends.

import { expect, test } from 'vitest'
import { createBeside } from '../../daemon/policy/beside.ts'

const request = {
  ...{ samples: [], maxNewTokens: 1, temperature: 1, stopTokens: [], isInteractive: true },
}

/** An engine that does things in order, slowly, and remembers them. */
function play({ fails = 0 } = {}) {
  const done: string[] = []
  const timers: (() => void)[] = []
  let [failures, holds] = [fails, '']
  const slowly = () => new Promise<void>((resolve) => setImmediate(resolve))
  const beside = createBeside({
    async open() {
      await slowly()
      if (failures-- > 0) throw new Error('no memory')
      done.push('open')
      holds = ''
      return {
        async generate({ isInteractive }) {
          done.push(`${holds} writes${isInteractive ? ' while it changes' : ''}`)
          await slowly()
          return []
        },
        async setWeights(weights) {
          holds = Object.keys(weights)[0]!
        },
        async close() {
          done.push('close')
        },
      }
    },
    async weightsOf(name) {
      await slowly()
      if (name === 'gone') throw new Error('gone')
      return { [name]: new Float32Array() }
    },
    after(_, run) {
      timers.push(run)
      return () => void timers.splice(timers.indexOf(run), 1)
    },
  })
  return { beside, done, timers, write: (name: string) => beside.of(name).generate(request) }
}

test('each call is written by the weights that it names, and these are loaded only when they change', async () => {
  const { done, write } = play()
  await Promise.all([write('a'), write('a'), write('b'), write('a')])
  expect(done).toEqual(['open', 'a writes', 'a writes', 'b writes', 'a writes'])
})

test('a call that fails does not keep the next from being answered', async () => {
  const { done, write } = play({ fails: 1 })
  await expect(write('a')).rejects.toThrow('no memory')
  const [gone, later] = await Promise.allSettled([write('gone'), write('b')])
  expect([gone!.status, later!.status]).toEqual(['rejected', 'fulfilled'])
  expect(done).toEqual(['open', 'b writes'])
})

test('the engine ends when nobody has asked for a while, and opens again', async () => {
  const { beside, done, timers, write } = play()
  await Promise.all([write('a'), write('b')])
  expect(timers).toHaveLength(1)
  timers[0]!()
  await new Promise((next) => setImmediate(next))
  await write('b')
  await beside.close()
  expect(done).toEqual(['open', 'a writes', 'b writes', 'close', 'open', 'b writes', 'close'])
})
