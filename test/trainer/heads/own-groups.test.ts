// Own groups, whoever they were written for, tell a node that averages weights what those do to it.

import { expect, test } from 'vitest'
import { takeOwnGroup } from '../../../daemon/node/own-groups.ts'
import type { Group } from '../../../protocol/train/index.ts'

test('a group that an agent, an environment or a conversation brings is heard by the watch for harm', () => {
  const heard: Group[] = []
  const group = { prompt: { task: 'an agent' }, rollouts: [{ reward: 1 }] } as unknown as Group
  const { isShared } = takeOwnGroup(group, {
    journal: { group() {} },
    core: { onOwnGroup: () => ({ isShared: false }) },
    heads: { ownGroup: (one) => void heard.push(one as Group) },
    changed: { wake() {} },
  })
  expect(heard).toEqual([group])
  expect(isShared).toBe(false)
})
