// A task with turns, as `waggle score` plays it.

import { expect, test } from 'vitest'
import task from '../../plugins/tasks/environments/frozen-lake.ts'
import { TURN_MARK } from '../../protocol/plugin/index.ts'
import { waggle } from './run-cli.ts'

test('score plays what is typed, and says when there is too much of it', async () => {
  const { key } = task.generate({ seed: 7, difficulty: 0 })
  const typed = key.replaceAll(TURN_MARK, ' ')
  const { stdout } = await waggle(['score', 'frozen_lake', '--seed', '7', typed])
  expect(stdout).toContain('S to G, not O: UDLR')
  expect(stdout).toMatch(/^1 {7}[UDLR] {2}0 {2}\d,\d [.OGS#]{4}$/m)
  expect(stdout).toMatch(/ {2}1 {2}the end\nscore {3}1 /)
  const more = await waggle(['score', 'frozen_lake', '--seed', '7', `${typed} U`])
  expect(more.stdout).toContain('there are answers after the end of the episode\nscore   0 ')
  const { verdict } = JSON.parse(
    (await waggle(['score', 'frozen_lake', '--seed', '7', key, '--json'])).stdout,
  )
  expect(verdict.score).toBe(1)
})
