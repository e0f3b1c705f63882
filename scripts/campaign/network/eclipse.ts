// G33: twenty peers surround a real daemon. They keep the swarm's rules, take its groups, pass none on and write none.
// Two honest peers are joined afterwards; later they leave, so that only the silent ones are left.

import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { TASKS } from '../../../plugins/tasks/index.ts'
import { contentId, type OwnGroupDraft } from '../../../protocol/wire/index.ts'
import { startDaemon, temporary } from '../../../test/e2e/daemon.ts'
import { codec, startNode, stopNodes } from '../../../test/swarm/helpers.ts'
import { answerIn } from '../../default-model/corpus.ts'
import type { Row } from '../row.ts'

const SWARM = 'eclipse'
const SILENT = 20
const GROUP_EVERY_MS = 2000
const ALARM_WITHIN_MS = 70_000
const task = TASKS.find(({ name }) => name === 'basic_arithmetic')!

/** Of a process, on Linux. */
async function cpuSecondsOf(pid: number): Promise<number> {
  const fields = (await readFile(`/proc/${pid}/stat`, 'utf8')).replace(/^.*\) /s, '').split(' ')
  return (Number(fields[11]) + Number(fields[12])) / 100
}

/** Right and wrong answers to an easy question; no two groups are alike. */
function groupOf(seed: number): OwnGroupDraft {
  const prompt = { task: task.name, taskVersion: task.version, seed, difficulty: 1 }
  const instance = task.generate(prompt)
  const rollouts = [instance.key, `${instance.key}0`, instance.key, `${instance.key}1`].map((key, i) => {
    const text = answerIn(i < 2 ? 'bare' : 'worked', { ...instance, key })
    const tokens = codec.encodeCompletion(text, 'stop')
    return { text, finish: 'stop' as const, segments: [{ version: 1, start: 0, length: tokens.length }] }
  })
  return {
    id: contentId(
      prompt,
      rollouts.map(({ text }) => text),
    ),
    prompt,
    arm: 'base',
    policy: { lineage: 'ab'.repeat(32), tokenizer: codec.tokenizer, version: 1 },
    rollouts,
  }
}

export async function eclipse({ seconds }: { seconds: number }): Promise<Row> {
  const folder = await temporary()
  const settings = ['name=eclipse', 'lan=off', 'wide=false', 'listen=["/ip4/127.0.0.1/tcp/0"]']
  const victim = await startDaemon(`${folder.path}/home`, {
    settings: ['tasks=basic_arithmetic', ...settings.map((setting) => `swarm.${setting}`)],
  })
  try {
    const look = () => victim.client.snapshot()
    const training = async (ms: number): Promise<{ steps: number; said: string }> => {
      const [step, cpu] = [(await look()).training!.step, await cpuSecondsOf(victim.pid)]
      await sleep(ms)
      const steps = (await look()).training!.step - step
      const each = ((await cpuSecondsOf(victim.pid)) - cpu) / steps
      return { steps, said: `${steps} (${each.toFixed(2)} s of CPU each)` }
    }
    const { swarm } = await victim.until('it trains', ({ training }) => training!.step >= 3, 120_000)
    const address = swarm!.addresses[0]!
    const alone = await training(seconds * 1000)

    const deaf = { tasks: { find: () => undefined } }
    for (let i = 0; i < SILENT; i++) await (await startNode({ swarm: SWARM }, deaf)).swarm.join(address)
    const honest = [await startNode({ swarm: SWARM }), await startNode({ swarm: SWARM })]
    // On a busy machine the search may go on after the command has given up.
    for (const node of honest) await victim.client.send('join', { target: node.address }).catch(() => {})
    await victim.until('all are connected', ({ swarm }) => swarm!.connected === SILENT + 2, 120_000)
    let written = 0
    const writing = setInterval(() => {
      for (const node of honest)
        void node.swarm.publish(groupOf(1_000_000 + written++)).catch(() => written--)
    }, GROUP_EVERY_MS)
    const [among] = await Promise.all([training(seconds * 1000), sleep(seconds * 1000)])
    clearInterval(writing)
    await sleep(3000)
    const { alerts = [], swarm: surrounded } = await look()
    const { peers } = surrounded!
    const ids = honest.map((node) => node.swarm.peerId)
    const kept = peers.filter(({ id, state }) => ids.includes(id) && /mesh|up/.test(state)).length
    const arrived = peers.filter(({ id }) => ids.includes(id)).reduce((sum, one) => sum + one.received, 0)
    const early = alerts.filter(({ message }) => message.includes('usable group')).length

    await Promise.all(honest.map((node) => node.swarm.stop()))
    const begun = performance.now()
    const [later] = await Promise.all([
      training(seconds * 1000),
      victim.until(
        'an alarm',
        ({ alerts = [] }) => alerts.some(({ message }) => message.includes('usable group')),
        ALARM_WITHIN_MS,
      ),
    ])
    const alarm = (performance.now() - begun) / 1000
    return {
      goal: 'G33',
      tried: `a daemon among ${SILENT} silent peers, joined to 2 honest ones that write ${written} groups in ${seconds} s and then leave`,
      result:
        `${surrounded!.connected} connected, ${kept} of 2 honest ones kept, ${arrived} of ${written} groups arrived; ` +
        `steps in ${seconds} s: ${alone.said} alone, ${among.said} surrounded, ${later.said} with the silent ones only; alarm after ${alarm.toFixed(0)} s`,
      control: `while honest groups came there were ${early} alarms`,
      isMet: kept === 2 && arrived === written && early === 0 && later.steps > 0 && alarm <= 60,
    }
  } finally {
    await victim.stop()
    await stopNodes()
    await folder.remove()
  }
}
