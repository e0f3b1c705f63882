// Daemons of one lineage on this machine that follow one another's steps: one forges, one finds it, the others hear of it.
//   node --import tsx scripts/lab/audits/daemons.ts [minutes=20] [at once | counted | averaged | never] [others=2] [late=0]
//     [FILE.gguf]
// With a file they run the recipe `sorting`, which begins with a warm start. The forger is honest until its weights count at
// another (`counted`), or until another has averaged them. All but the first
// start `late` seconds later, so that they catch up by a trial. Prints what their logs say of audits and trials, when its
// weights are averaged, and at the end what each says of itself: a minute after all others know.

import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { peerName } from '../../../protocol/text.ts'
import { startNode } from '../nodes/process.ts'

const [minutes = '20', since = 'counted', others = '2', late = '0', model] = process.argv.slice(2)
const FORGER = fileURLToPath(new URL('forger.ts', import.meta.url))
const ROLES = ['first', 'forger', 'third', 'fourth'].slice(0, 1 + Number(others))
const SMALL = `
[rollout]
group_size = 8
groups_per_round = 4
[model]
max_completion_tokens = 48
[training]
batch_groups = 8
max_peer_groups = 0
`
const RECIPE = ['--recipe', 'sorting', '--model', model!, '--set', 'training.max_peer_groups=0']
const CONFIG = `${model ? '' : SMALL}
[engine]
threads = 1
[eval]
every_seconds = 0
prompts_per_task = 40
[limits]
writes_gb_per_day = 0
[swarm]
name = "audited"
listen = ["/ip4/127.0.0.1/tcp/0"]
lan = "off"
wide = false
audits = true
`

const place = await mkdtemp(join(tmpdir(), 'waggle-three-'))
const forge = join(place, 'forge')
process.env.FORGE_ONCE = forge
let isForging = since === 'at once'
if (isForging) await writeFile(forge, '')
const started = performance.now()
const at = (): string => `${((performance.now() - started) / 1000).toFixed(0).padStart(5)} s`

/** `trusted`: a peer whose weights the forger averages, so that its own stay near enough to count there. */
async function open(role: string, trusted: readonly string[] = []) {
  const home = join(place, role)
  await mkdir(home)
  const weights = role === 'forger' ? `"trusted"\ntrust = ${JSON.stringify(trusted)}` : '"audited"'
  await writeFile(join(home, 'config.toml'), `${CONFIG}weights = ${weights}\n`)
  const node = await startNode(home, model ? RECIPE : [], { imports: role === 'forger' ? [FORGER] : [] })
  const { peerId: id } = (await node.snapshot()).node
  console.log(`${at()} ${role} is ${peerName(id)}`)
  return { role, home, node, id, read: 0, averaged: 0 }
}
const [first, ...later] = ROLES
const founder = await open(first!)
await sleep(1000 * Number(late))
const nodes = [founder, ...(await Promise.all(later.map((role) => open(role, [founder.id]))))]
const addresses = await Promise.all(
  nodes.map(async ({ node }) => (await node.snapshot()).swarm!.addresses[0]!),
)
for (const [i, { node }] of nodes.entries())
  for (const address of addresses.slice(0, i)) await node.join(address)
console.log(`${at()} all are connected`)

const forger = nodes.find(({ role }) => role === 'forger')!
async function beginForging(why: string): Promise<void> {
  isForging = true
  await writeFile(forge, '')
  const { training } = await forger.node.snapshot()
  console.log(`${at()} the forger begins after step ${training?.step}: its weights ${why}`)
}
const counts = new RegExp(`stranger ${peerName(forger.id)}: passed.* weights count [1-9]`)
const ABOUT = /audit|accus|not averaged|forg|trying|caught up|merged|refused/
let end = 60_000 * Number(minutes)
while (performance.now() - started < end) {
  await sleep(2000)
  const others = nodes.filter((one) => one !== forger)
  const told = await Promise.all(others.map(({ node }) => node.snapshot()))
  if (told.every(({ heads }) => heads?.out.includes(forger.id)))
    end = Math.min(end, performance.now() - started + 60_000)
  for (const [i, { heads, training }] of told.entries()) {
    const [one, found] = [others[i]!, heads?.peers.find(({ peer }) => peer === forger.id)]
    if (!found || found.at === one.averaged) continue
    one.averaged = found.at
    console.log(`${at()} ${one.role}, step ${training?.step}: averaged the forger's of step ${found.version}`)
    if (!isForging && since === 'averaged') await beginForging('were averaged')
  }
  for (const one of nodes) {
    const lines = (await readFile(join(one.home, 'logs/waggle.log'), 'utf8')).split('\n')
    for (const line of lines.slice(one.read, -1))
      if (ABOUT.test(line)) console.log(`${at()} ${one.role}: ${line}`)
    if (!isForging && since === 'counted' && lines.slice(one.read, -1).some((line) => counts.test(line)))
      await beginForging('count')
    one.read = lines.length - 1
  }
}
for (const { role, node } of nodes) {
  const { training, heads, alerts, machine } = await node.snapshot()
  const told = {
    ...{
      step: training?.step,
      out: heads?.out.map(peerName),
      averaged: heads?.peers.map(({ peer }) => peerName(peer)),
    },
    ...{ audits: heads?.audits, seconds: machine?.cpuSeconds, alerts: alerts?.map(({ message }) => message) },
  }
  console.log(`${at()} ${role}: ${JSON.stringify(told)}`)
  if (role === 'forger') console.log(node.output().match(/forging since .*/)?.[0] ?? 'it has not forged yet')
}
await Promise.all(nodes.map(({ node }) => node.stop()))
await rm(place, { recursive: true })
