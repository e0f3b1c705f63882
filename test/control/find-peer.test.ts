import { expect, test } from 'vitest'
import { findPeer } from '../../daemon/control/node/find-peer.ts'
import { peerName } from '../../protocol/text.ts'
import { OTHER, SELF } from './scripted-node.ts'

/** An ID that has the friend's name: there are only some thousand names. */
function twinOf(friend: string): string {
  for (let i = 0; ; i++) if (peerName(`twin-${i}`) === peerName(friend)) return `twin-${i}`
}

test('a name that one peer has is that peer, and an ID is always itself', () => {
  expect(findPeer(peerName(OTHER), [SELF, OTHER, OTHER])).toBe(OTHER)
  expect(findPeer(OTHER, [])).toBe(OTHER)
})

test('a name that two peers have is refused with both IDs, whoever is listed first', () => {
  const twin = twinOf(OTHER)
  for (const ids of [
    [twin, OTHER],
    [OTHER, twin],
  ]) {
    expect(() => findPeer(peerName(OTHER), ids)).toThrow(
      expect.objectContaining({
        code: 'E_PEER',
        message: `2 peers are named ${peerName(OTHER)}: ${ids.join(', ')}`,
        hint: expect.stringContaining('Give the ID'),
      }),
    )
  }
  expect(findPeer(OTHER, [twin, OTHER])).toBe(OTHER)
})

test('an unknown name is reported as unknown', () => {
  expect(() => findPeer('brave-otter\u{e0041}', [OTHER])).toThrow('no peer is named brave-otter·')
})
