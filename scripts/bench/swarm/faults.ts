// Does a swarm recover? node --import tsx scripts/bench/swarm/faults.ts [random faults=0 | fault] [seed=1 | seconds]
// (Needs root.) Three nodes in their own network namespaces on one bridge. The third is killed, loses power, is cut
// off, is stopped, or sleeps and wakes with another address. The time is measured from when the network works again
// until fresh groups flow both ways with both other nodes.

import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Child, quantile, round, sleep } from './processes/parent.ts'

const only = Number.isNaN(Number(process.argv[2] ?? 0)) ? process.argv[2] : undefined
const [randomFaults = 0, seed = 1] = only ? [0, Number(process.argv[3])] : process.argv.slice(2).map(Number)
const NODES = [0, 1, 2]
const VICTIM = 2
const ip = (...args: string[]) => execFileSync('ip', args, { stdio: ['ignore', 'ignore', 'pipe'] })
const netns = (node: number) => `waggle-f${node}`
const link = (node: number) => `wgl-f${node}`
const ipOf = (node: number) => `10.77.0.${node + 1}`

function buildNetwork(): void {
  ip('link', 'add', 'wgl-br', 'type', 'bridge')
  ip('link', 'set', 'wgl-br', 'up')
  for (const node of NODES) {
    ip('netns', 'add', netns(node))
    ip('link', 'add', link(node), 'type', 'veth', 'peer', 'name', 'eth0', 'netns', netns(node))
    ip('link', 'set', link(node), 'master', 'wgl-br', 'up')
    ip('-n', netns(node), 'addr', 'add', `${ipOf(node)}/24`, 'dev', 'eth0')
    ip('-n', netns(node), 'link', 'set', 'eth0', 'up')
    ip('-n', netns(node), 'link', 'set', 'lo', 'up')
    ip('-n', netns(node), 'route', 'add', 'default', 'dev', 'eth0')
  }
}

function dropNetwork(): void {
  const quietly = (...args: string[]) => {
    try {
      ip(...args)
    } catch {
      // It was not there.
    }
  }
  for (const node of NODES) {
    quietly('link', 'del', link(node))
    quietly('netns', 'del', netns(node))
  }
  quietly('link', 'del', 'wgl-br')
}

const home = mkdtempSync(join(tmpdir(), 'waggle-faults-'))
const children: Child[] = []
const keys: string[] = []
const addresses: string[] = []
let nextSeed = 1
/** seed -> [node, when] */
const published = new Map<number, { node: number; at: number }>()
let missing = 0
const heard: Array<{ node: number; seed: number; from: number; publishedAt: number; at: number }> = []

async function startNode(node: number): Promise<void> {
  const child = new Child({ netns: netns(node) })
  children[node] = child
  child.on((report) => {
    if (report.kind !== 'group') return
    const origin = published.get(report.seed)
    if (origin)
      heard.push({ node, seed: report.seed, from: origin.node, publishedAt: origin.at, at: report.at })
  })
  const options = {
    // The address of the one that sleeps changes.
    listen: [`/ip4/${node === VICTIM ? '0.0.0.0' : ipOf(node)}/tcp/4001`],
    swarm: 'faults',
    wide: true,
    lan: 'off' as const,
  }
  const { address } = await child.start(node, options, {
    keyPem: keys[node]!,
    datastore: join(home, `${node}`),
  })
  addresses[node] = address
}

const now = () => performance.timeOrigin + performance.now()

function publishAll(): void {
  for (const node of NODES) {
    if (!children[node]?.process.connected) continue
    const seed = nextSeed++
    published.set(seed, { node, at: now() })
    try {
      children[node].tell({ do: 'publish', node, seed, bytes: 4000 })
    } catch {}
  }
}

/** Seconds from `since` until the victim hears both others and both hear it, of groups published after it. */
async function recovery(since: number, limitMs: number): Promise<number | undefined> {
  const links = NODES.filter((n) => n !== VICTIM).flatMap(
    (n) =>
      [
        [VICTIM, n],
        [n, VICTIM],
      ] as const,
  )
  while (now() < since + limitMs) {
    const times = links.map(([node, from]) =>
      Math.min(
        ...heard.filter((h) => h.node === node && h.from === from && h.publishedAt >= since).map((h) => h.at),
      ),
    )
    if (times.every(Number.isFinite)) return (Math.max(...times) - since) / 1000
    await sleep(50)
  }
  return undefined
}

const cut = (node: number, on: boolean) => ip('link', 'set', link(node), on ? 'down' : 'up')

/** The number of the victim's address. */
let sleeper = VICTIM

/** Each returns the moment from which recovery counts. */
const FAULTS: Record<string, (seconds: number) => Promise<number>> = {
  async 'kill -9, restart'() {
    await children[VICTIM]!.kill()
    await sleep(500)
    await startNode(VICTIM)
    return now()
  },
  async 'power loss, restart'(seconds) {
    cut(VICTIM, true)
    await children[VICTIM]!.kill()
    await sleep(seconds * 1000)
    cut(VICTIM, false)
    await startNode(VICTIM)
    return now()
  },
  async partition(seconds) {
    cut(VICTIM, true)
    await sleep(seconds * 1000)
    cut(VICTIM, false)
    return now()
  },
  async stall(seconds) {
    children[VICTIM]!.process.kill('SIGSTOP')
    await sleep(seconds * 1000)
    children[VICTIM]!.process.kill('SIGCONT')
    return now()
  },
  async 'sleep, then another address'(seconds) {
    children[VICTIM]!.process.kill('SIGSTOP')
    cut(VICTIM, true)
    await sleep(seconds * 1000)
    const before = sleeper
    sleeper = before + 100 > 250 ? VICTIM : before + 100
    ip('-n', netns(VICTIM), 'addr', 'del', `${ipOf(before)}/24`, 'dev', 'eth0')
    ip('-n', netns(VICTIM), 'addr', 'add', `${ipOf(sleeper)}/24`, 'dev', 'eth0')
    ip('-n', netns(VICTIM), 'route', 'replace', 'default', 'dev', 'eth0')
    cut(VICTIM, false)
    children[VICTIM]!.process.kill('SIGCONT')
    return now()
  },
}

/** Of what the others published since the fault began until two seconds ago: the share that the victim has. */
function caughtUp(from: number): { there: number; of: number } {
  const until = now() - 2000
  const missed = [...published].filter(([, { node, at }]) => node !== VICTIM && at >= from && at < until)
  const there = new Set(heard.filter(({ node }) => node === VICTIM).map(({ seed }) => seed))
  return { there: missed.filter(([seed]) => there.has(seed)).length, of: missed.length }
}

async function run(name: string, seconds: number): Promise<number | undefined> {
  heard.length = 0
  const began = now()
  const since = await FAULTS[name]!(seconds)
  const took = await recovery(since, 60_000)
  while (now() < since + 10_000) await sleep(100)
  const { there, of } = caughtUp(began)
  missing += of - there
  console.log(
    `${name}${seconds ? ` ${seconds} s` : ''}: ${took === undefined ? 'DEAF after 60 s' : `${round(took, 2)} s`}; after 10 s it has ${there} of ${of} groups written meanwhile`,
  )
  if (took === undefined)
    for (const node of NODES) {
      const { counters, peers } = await children[node]!.ask({ do: 'report', node }, 'report')
      console.log(node, JSON.stringify(counters), JSON.stringify(peers))
      console.log(
        node,
        'heard',
        NODES.map((from) => heard.filter((h) => h.node === node && h.from === from).length),
      )
    }
  return took
}

dropNetwork()
buildNetwork()
try {
  const maker = new Child()
  for (const _ of NODES) keys.push((await maker.ask({ do: 'key' }, 'key')).pem)
  await maker.kill()
  for (const node of NODES) await startNode(node)
  for (const node of [1, 2]) await children[node]!.ask({ do: 'join', node, target: addresses[0]! }, 'joined')
  await children[2]!.ask({ do: 'join', node: 2, target: addresses[1]! }, 'joined')
  const beat = setInterval(publishAll, 250)
  await sleep(3000)
  if (only) await run(only, seed)
  else if (randomFaults === 0) {
    await run('kill -9, restart', 0)
    await run('power loss, restart', 2)
    await run('partition', 30)
    await run('stall', 25)
    for (let i = 0; i < 3; i++) await run('sleep, then another address', 30)
    await run('partition', 120)
  } else {
    let state = seed
    const random = () => {
      state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
      return state / 2 ** 32
    }
    const names = Object.keys(FAULTS)
    const times: number[] = []
    let deaf = 0
    for (let i = 0; i < randomFaults; i++) {
      const took = await run(names[Math.floor(random() * names.length)]!, 1 + Math.floor(random() * 12))
      if (took === undefined) deaf++
      else times.push(took)
    }
    console.log(
      `${randomFaults} faults: median ${round(quantile(times, 0.5), 2)} s, p95 ${round(quantile(times, 0.95), 2)} s, worst ${round(Math.max(...times), 2)} s, deaf ${deaf}, groups missed for good ${missing}`,
    )
  }
  clearInterval(beat)
} finally {
  for (const child of children) child.process.kill('SIGKILL')
  dropNetwork()
  rmSync(home, { recursive: true, force: true })
}
process.exit(0)
