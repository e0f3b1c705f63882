// What a stranger's groups do to a node that trains, over real connections:
//
//   node --import tsx scripts/bench/swarm/groups.ts [steps=60] [attack…]
//
// Two daemons share on loopback; after as many calm steps, a stranger sends the first one five groups a second until it has made
// as many steps again. `empty`: half of the completions have no tokens. `bloat`: one right answer and long random text beside
// it, in groups of 64 rollouts and of 2 by turns, since the small ones keep within an author's part of a batch. `strangers`:
// groups of 64 rollouts without a signal, each by a new author. Counts do not depend on how busy the machine is; seconds do.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Snapshot, StepEvent } from '../../../protocol/api/index.ts'
import { startAttacked } from '../../../test/e2e/attacked.ts'
import { killAll } from '../../../test/e2e/daemon.ts'
import { thisMachine } from '../../lab/frame/machine.ts'
import { mean } from '../../lab/frame/statistics.ts'
import { ATTACKS } from '../../lab/nodes/attackers.ts'

const [count = 60] = process.argv.slice(2, 3).map(Number)
const chosen = process.argv.slice(3)

/** Processor seconds of a process since it started. */
function processorSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
  return (Number(fields[11]) + Number(fields[12])) / 100
}

console.log(thisMachine())
for (const kind of ATTACKS.filter((name) => chosen.length === 0 || chosen.includes(name))) {
  const folder = mkdtempSync(join(tmpdir(), 'waggle-groups-'))
  try {
    const { victim, honest, events, attack } = await startAttacked(folder)
    const stepOf = ({ training }: Snapshot): number => training?.step ?? 0
    const calmFrom = stepOf(await victim.client.snapshot())
    const spent = [{ at: performance.now(), seconds: processorSeconds(victim.pid) }]
    const look = () => spent.push({ at: performance.now(), seconds: processorSeconds(victim.pid) })
    const before = await victim.until('calm', (s) => stepOf(s) >= calmFrom + count, 600_000)
    look()
    const hostile = await attack(kind)
    const after = await victim.until('attack', (s) => stepOf(s) >= stepOf(before) + count, 600_000)
    look()
    await hostile.stop()
    const perStep = (i: number): string =>
      `${((spent[i + 1]!.seconds - spent[i]!.seconds) / count).toFixed(2)} processor seconds and ${((spent[i + 1]!.at - spent[i]!.at) / 1000 / count).toFixed(2)} s a step`
    const those = (from: number, to: number) =>
      events.filter((event) => event.type === 'step').filter(({ step }) => step > from && step <= to)
    console.log(`\n${kind}: ${hostile.sent()} groups sent`)
    console.log(`  calm:   ${perStep(0)}, ${described(those(calmFrom, stepOf(before)))}`)
    console.log(`  attack: ${perStep(1)}, ${described(those(stepOf(before), stepOf(after)))}`)
    const { rollouts, training, sharing, plugins = [] } = after
    const refused = Object.entries(rollouts!.refused).map(([reason, times]) => `${reason} ${times}`)
    console.log(
      `  refused: ${refused.join(', ') || 'none'}; guards: ${JSON.stringify(training!.guards ?? {})}`,
    )
    console.log(`  alerts: ${after.alerts?.map(({ message }) => message).join('; ') || 'none'}`)
    const off = plugins.filter(({ state }) => state !== 'ok').map(({ name, state }) => `${name} ${state}`)
    console.log(`  plugins not ok: ${off.join(', ') || 'none'}`)
    for (const [name, id] of [
      ['honest peer', honest.peerId],
      ['stranger', hostile.author],
    ]) {
      const of = sharing?.contributors.find(({ peer }) => peer === id)
      const trained = after.swarm?.peers.find((peer) => peer.id === id)?.trained
      console.log(
        `  ${name}: weight ${of?.weight.toFixed(2) ?? 'none'}, share ${of?.share.toFixed(2) ?? 'none'}, trained ${trained ?? 0}, ${of?.setAside ?? 'not set aside'}`,
      )
    }
  } finally {
    await killAll()
    rmSync(folder, { recursive: true, force: true })
  }
}
process.exit(0)

function described(some: readonly StepEvent[]): string {
  const of = (name: string): number[] => some.map(({ metrics }) => metrics[name] ?? 0)
  const range = (values: number[], digits: number): string =>
    `${mean(values).toFixed(digits)} (most ${Math.max(...values).toFixed(digits)})`
  return `${some.length} steps, tokens a step ${range(of('real_tokens'), 0)}, foreign share of completion tokens ${range(of('foreignShare'), 2)}, entropy of own rollouts ${range(of('entropy'), 2)}`
}
