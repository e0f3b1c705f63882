// `waggle stop` of a node whose last checkpoint cannot be saved: it ends all the same.

import { expect, test } from 'vitest'
import { run, stopNode } from '../../daemon/cli/commands/run/stop.ts'
import { WaggleError } from '../../protocol/errors.ts'
import { contextFor } from './run-cli.ts'

function stopping({ code }: { code: 'E_CHECKPOINT' | 'E_CONTROL' }) {
  let asked = false
  const written: string[] = []
  const client = {
    health: async () => {
      if (asked) throw new WaggleError('E_NOT_RUNNING', 'no daemon is running')
      return { name: 'otter', pid: 7 }
    },
    send: async () => {
      asked = true
      throw new WaggleError(code, 'the disk is full')
    },
  } as never
  const context = { ...contextFor({ quiet: 'true' }), client, out: (line: string) => written.push(line) }
  return { context: context as never, written }
}

test('says that the node has stopped, although its checkpoint was not saved', async () => {
  const { context, written } = stopping({ code: 'E_CHECKPOINT' })
  await run(context).catch(() => {})
  expect(written).toEqual(['otter has stopped'])
})

test('fails if the checkpoint was not saved', async () => {
  await expect(run(stopping({ code: 'E_CHECKPOINT' }).context)).rejects.toThrow('the disk is full')
})

test('a restart learns of it, and can start the node again', async () => {
  const { unsaved } = await stopNode(stopping({ code: 'E_CHECKPOINT' }).context)
  expect(unsaved?.message).toBe('the disk is full')
})

test('a node that does not stop is not said to have stopped', async () => {
  const { context, written } = stopping({ code: 'E_CONTROL' })
  await run(context).catch(() => {})
  expect(written).toEqual([])
})
