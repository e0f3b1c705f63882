import { expect, test } from 'vitest'
import { createPhases, doingText, NO_PHASES, type Phases } from '../../protocol/api/index.ts'

let now = 0
const pass = (ms: number): void => {
  now += ms
}
const clocked = (): Phases => {
  now = 0
  return createPhases({ now: () => now })
}

test('a phase says what it does, how far it is, how fast, and how long it still takes', async () => {
  const phases = clocked()
  await phases.run('train', { unit: 'tokens', total: 12_000 }, (at) => {
    now = 30_000
    at(3000)
    expect(phases.list()).toEqual([
      {
        ...{ name: 'train', seconds: 30, done: 3000, total: 12_000, unit: 'tokens' },
        ...{ fraction: 0.25, perSecond: 100, secondsLeft: 90 },
      },
    ])
    expect(phases.list().map(doingText)).toEqual([
      'training 25 %, 3,000 of 12.0 k tokens, 100 tokens/s, 1 min left',
    ])
  })
  expect(phases.list()).toEqual([])
})

test('no remaining time is made up: not for answers of unknown lengths, not for a phase that has only begun', async () => {
  const phases = clocked()
  await phases.run('write', { unit: 'answers', total: 64 }, (at) => {
    now = 30_000
    at(32)
    expect(phases.list().map(doingText)).toEqual(['writing answers 50 %, 32 of 64 answers, 1.07 answers/s'])
  })
  await phases.run('train', { unit: 'tokens', total: 1000 }, (at) => {
    now += 30_000
    at(10)
    expect(phases.list()[0]).not.toHaveProperty('secondsLeft')
  })
  await phases.run('start', {}, () => {
    now += 5000
    expect(phases.list().map(doingText)).toEqual(['starting the engines for 5 s'])
  })
})

test('short phases are not shown, and more than all is all', async () => {
  const phases = clocked()
  await phases.run('save', { unit: 'bytes', total: 10e6 }, (at) => {
    now = 1500
    expect(phases.list()).toEqual([])
    now = 4000
    at(11e6)
    expect(phases.list().map(doingText)).toEqual(['saving 100 %, 10.0 MB of 10.0 MB, 2.75 MB/s, 0 s left'])
  })
})

test('of phases that run side by side the most important comes first, whichever began first', async () => {
  const phases = clocked()
  await phases.run('write', {}, () =>
    phases.run('evaluate', {}, () =>
      phases.run('train', {}, () => {
        now = 3000
        expect(phases.list().map(({ name }) => name)).toEqual(['train', 'evaluate', 'write'])
        expect(phases.foremost()).toBe('train')
      }),
    ),
  )
})

test('a node that changes phases many times a second keeps one name for what it does', async () => {
  const phases = clocked()
  const seen = new Set<string | undefined>()
  for (let step = 0; step < 20; step++) {
    await phases.run('write', {}, () => pass(300))
    if (step > 0) seen.add(phases.foremost())
    await phases.run('train', {}, () => pass(200))
    seen.add(phases.foremost())
  }
  expect([...seen]).toEqual(['train'])
  now += 5000
  expect(phases.foremost()).toBeUndefined()
})

test('a phase ends with its work, also if that fails', async () => {
  const phases = clocked()
  const failing = phases.run('save', {}, () => Promise.reject(new Error('the disk is full')))
  await expect(failing).rejects.toThrow('the disk is full')
  now = 9000
  expect(phases.list()).toEqual([])
  expect(await NO_PHASES.run('save', {}, async () => 'done')).toBe('done')
})

test('a phase whose size is known shows a share, and for how long, before its first piece is done', async () => {
  const phases = clocked()
  await phases.run('train', { unit: 'tokens', total: 4160 }, () => {
    now += 20_000
    expect(phases.list().map(doingText)).toEqual(['training 0 %, 0 of 4,160 tokens, for 20 s'])
  })
})

test('answers that are being written count in part, and the tokens tell the speed', async () => {
  const phases = clocked()
  await phases.run('write', { unit: 'answers', total: 64 }, (at) => {
    now += 10_000
    at(16.8, undefined, 420)
    expect(phases.list().map(doingText)).toEqual(['writing answers 26 %, 16 of 64 answers, 42 tokens/s'])
  })
})

test('before enough is done, the remaining time is by how long the last phase of its kind took', async () => {
  const phases = clocked()
  await phases.run('train', { unit: 'tokens', total: 1000 }, () => pass(20_000))
  await phases.run('train', { unit: 'tokens', total: 2000 }, () => {
    pass(10_000)
    expect(phases.list()[0]).toMatchObject({ fraction: 0, secondsLeft: 30 })
    pass(40_000)
    expect(phases.list()[0]).not.toHaveProperty('secondsLeft')
  })
})

test('a count that begins again, as after a lost device, does not go back', async () => {
  const phases = clocked()
  await phases.run('write', { unit: 'answers', total: 10 }, (at) => {
    pass(3000)
    at(6, undefined, 60)
    at(1, undefined, 10)
    expect(phases.list()[0]).toMatchObject({ done: 6, tokensPerSecond: 20 })
  })
})
