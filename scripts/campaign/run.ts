// Measures those goals of docs/results/simulation.md that one process and its children can, and prints a line for each.
// G30 also asks npm's registry.
//
//   npm run -s campaign                       all, at their full counts: some minutes
//   npm run -s campaign -- --share 0.01       a hundredth of each
//   npm run -s campaign -- --only G20,G23

import { parseArgs } from 'node:util'
import { answers } from './answers.ts'
import { capture } from './capture.ts'
import { fields } from './fields.ts'
import { injections } from './injections.ts'
import { lengths } from './lengths.ts'
import { mutation } from './mutation/mutation.ts'
import { eclipse } from './network/eclipse.ts'
import { knownPeers } from './network/known-peers.ts'
import { replays } from './network/replays.ts'
import { sockets } from './network/sockets.ts'
import { noise } from './noise.ts'
import { numbers } from './numbers.ts'
import { packages } from './packages.ts'
import { cpuSeconds, type Row } from './row.ts'
import { stops } from './stops.ts'
import { names, pollution, terminal } from './text.ts'

const { values } = parseArgs({
  options: {
    share: { type: 'string', default: '1' },
    only: { type: 'string' },
    /** Of the faults that G38 puts into the source. */
    seed: { type: 'string', default: '1' },
    /** In which parts; see mutation.ts. */
    parts: { type: 'string' },
  },
})
const of = (count: number): number => Math.ceil(count * Number(values.share))

const GOALS: Record<string, () => Promise<Row>> = {
  G03: () => capture({ rounds: of(20) }),
  G05: () => fields({ count: of(1e5) }),
  G10: () => numbers({ count: of(1e4) }),
  G13: () => knownPeers({ count: of(200) }),
  G20: () => replays({ count: of(1e6) }),
  G22: () => lengths({ rounds: of(30) }),
  G23: () => answers({ perTask: of(1e5) }),
  G26: () => pollution({ count: of(5e5) }),
  G27: () => names({ count: of(1e6) }),
  G28: () => terminal({ count: of(1e6) }),
  G30: packages,
  G31: () => injections({ count: of(200) }),
  G33: () => eclipse({ seconds: of(60) }),
  G34: () => sockets({ joins: of(100) }),
  G36: () => stops({ count: of(5) }),
  G37: () => noise({ seconds: of(20) }),
  G38: () =>
    mutation({
      each: of(25),
      seed: values.seed,
      parts: values.parts?.split(','),
      onSurvivor: (one) => console.log(JSON.stringify(one)),
    }),
}

const only = values.only?.split(',')
let missed = 0
for (const [goal, measure] of Object.entries(GOALS)) {
  if (only && !only.includes(goal)) continue
  let row: Row | undefined
  const seconds = await cpuSeconds(async () => {
    row = await measure()
  })
  console.log(JSON.stringify({ ...row, cpuSeconds: Number(seconds.toFixed(1)) }))
  if (!row?.isMet) missed++
}
process.exitCode = missed > 0 ? 1 : 0
