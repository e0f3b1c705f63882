import fc from 'fast-check'
import { expect, test } from 'vitest'
import { eventLine } from '../../daemon/cli/text/event-text.ts'
import { statusText } from '../../daemon/cli/text/status-text.ts'
import type { Event } from '../../protocol/api/index.ts'
import { createScriptedNode } from '../control/scripted-node.ts'

const text = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        '\u001b]52;c;eA==\u0007',
        '\u001b]8;;x\u001b\\',
        '\u009b2J',
        '\u009d0;x\u009c',
        '\u001bP1$r\u001b\\',
        '\r\n',
        '\u202e',
        '\u2066',
        '\u200b',
        '\ufeff',
        '\ud800',
        '\u0000',
      ),
      fc.string({ unit: 'binary', maxLength: 5 }),
    ),
    { maxLength: 5 },
  )
  .map((parts) => parts.join(''))

/** C0, DEL, C1, bidi, zero-width, line separators, halves of pairs. */
const HARMFUL =
  /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/

test('in the log, whatever a peer writes is inert: 10^5 strings', () => {
  const made: Array<(evil: string) => Event> = [
    (evil) => ({
      v: 1,
      id: 1,
      time: 0,
      type: 'log',
      level: 'info',
      area: evil,
      message: evil,
      data: { evil },
    }),
    (evil) => ({
      v: 1,
      id: 1,
      time: 0,
      type: 'peer',
      peer: evil,
      name: evil,
      change: 'muted',
      address: evil,
      reason: evil,
    }),
    (evil) => ({ v: 1, id: 1, time: 0, type: 'refused', peer: evil, reason: evil }),
    (evil) => ({ v: 1, id: 1, time: 0, type: 'plugin', kind: evil, name: evil, state: 'off', message: evil }),
  ]
  fc.assert(
    fc.property(text, fc.constantFrom(...made), (evil, make) => {
      expect(HARMFUL.test(eventLine(make(evil), { color: false, verbose: true }) ?? '')).toBe(false)
    }),
    { numRuns: 100_000 },
  )
}, 60_000)

test('in the status, too', () => {
  const good = createScriptedNode().snapshot()
  fc.assert(
    fc.property(text, (evil) => {
      const snapshot = {
        ...good,
        detail: evil,
        swarm: {
          ...good.swarm!,
          name: evil,
          reachability: evil,
          addresses: [evil],
          peers: [{ ...good.swarm!.peers[0]!, name: evil }],
        },
        rollouts: { ...good.rollouts!, refused: { [evil]: 1 } },
        alerts: [{ time: 0, level: 'warning' as const, message: evil, action: evil, key: 'x' }],
      }
      expect(HARMFUL.test(statusText(snapshot).join(''))).toBe(false)
    }),
    { numRuns: 5000 },
  )
})
