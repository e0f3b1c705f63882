// Plants bugs, one at a time, and says after how many seeds the simulation finds each. They are put between the daemon and
// its ports; no source is changed.
//
//   npm run -s sim:planted                      up to 200 seeds for each
//   npm run -s sim:planted -- --only no-fsync --most 20

import { parseArgs } from 'node:util'
import { Quota } from '../../daemon/swarm/admission/quota.ts'
import type { ActorKind } from '../../test/sim/actors/index.ts'
import { type Fault, runChaos } from '../../test/sim/chaos.ts'
import type { Planted } from '../../test/sim/node/node.ts'

interface Bug {
  planted: Planted
  /** What the search is narrowed to, as a campaign that looks for such bugs would; the control run has it too. */
  faults: readonly Fault[]
  actors: readonly ActorKind[]
}

const BUGS: Record<string, Bug> = {
  'no-fsync': {
    planted: {
      disk(disk) {
        disk.lies.sync = true
      },
    },
    faults: ['power cuts', 'power cut at an operation'],
    actors: [],
  },
  'acknowledged-before-durable': {
    planted: {
      pool: (pool) => ({
        ...pool,
        async flush() {
          // It is on its way…
          void pool.flush()
        },
      }),
    },
    faults: ['kills', 'power cuts', 'power cut at an operation'],
    actors: [],
  },
  'bans-forget-a-restart': {
    planted: {
      exchange({ reputation }) {
        reputation.restore = () => {}
      },
    },
    faults: ['kills', 'power cuts'],
    actors: ['forger', 'flooder', 'babbler'],
  },
  'quotas-forget-a-restart': {
    planted: {
      exchange({ admission }) {
        admission.resume = () => {}
      },
    },
    faults: ['kills', 'power cuts'],
    actors: ['crowd'],
  },
  'cap-counts-forwarders': {
    planted: {
      exchange({ admission }) {
        const inner = admission as unknown as {
          authors: Pick<Quota, 'take' | 'resume'>
          parts: { clock: { now(): number } }
        }
        const quota = new Quota({ rate: { perSecond: 8, burst: 256 } }, inner.parts as never)
        const screen = admission.screen.bind(admission)
        let from = ''
        inner.authors = { take: () => quota.take(from), resume: (at) => quota.resume(at) }
        admission.screen = (bytes, source, options) => {
          from = source
          return screen(bytes, source, options)
        }
      },
    },
    faults: ['delays'],
    actors: ['crowd'],
  },
}

/** Virtual seconds: long enough for some deaths. */
const SHORT = { chaosSeconds: 60, healSeconds: 0 }

const { values } = parseArgs({
  options: { only: { type: 'string' }, most: { type: 'string', default: '200' } },
})
for (const [name, { planted, ...world }] of Object.entries(BUGS)) {
  if (values.only !== undefined && values.only !== name) continue
  let found: { seed: number; breach: string } | undefined
  for (let seed = 1; seed <= Number(values.most) && !found; seed++) {
    const { breaches } = await runChaos({ seed, planted, ...SHORT, ...world })
    if (breaches[0]?.includes('cannot start'))
      throw new Error(`${name} is planted where nothing is: ${breaches[0]}`)
    if (breaches[0] !== undefined) found = { seed, breach: breaches[0] }
  }
  const control = found && (await runChaos({ seed: found.seed, ...SHORT, ...world })).breaches
  console.log(JSON.stringify({ bug: name, ...(found ?? { seed: 'not found' }), control }))
}
