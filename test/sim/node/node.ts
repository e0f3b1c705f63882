// An honest node in a simulation, on a virtual clock, disk and network. It lives many times; only its disk and its key
// stay.

import { SimulatedDisk, type Survival } from '../../store/simulated-disk.ts'
import type { Life } from './disk.ts'
import { type Around, type Lasting, lastingOf, type NodeOptions } from './lasting.ts'
import { type Living, openLife } from './open.ts'

export { config, type Forge, type Planted } from './lasting.ts'

export type HonestNode = ReturnType<typeof createHonestNode>

/** As a service manager waits. */
const RESTART_MS = 5000

export function createHonestNode(options: NodeOptions, around: Around) {
  const node: Lasting = { ...lastingOf(options, around), kill: (isPower) => lives.kill(isPower) }
  const lives = createLives(node)
  const { name, self, identity, checks, weather, tokens } = node
  return {
    ...{ name, id: self, identity, checks, weather, tokens, kill: lives.kill },
    get living() {
      return lives.living
    },
    get diskBytes() {
      return lives.disk.used
    },
    boot: () => void lives.boot(),
    backUp: lives.backUp,
    setClock(skew: number): void {
      weather.skew = skew
      checks.quotaLost()
    },
    rot: () => rot(lives.disk, node),
    /** A broken link works again. */
    mended: (peer: string) => lives.living?.exchange.fillGap(peer),
  }
}

/** What begins and ends its lives. */
function createLives(node: Lasting) {
  const { name, self, random, planted, checks, weather, world, net } = node
  let disk = new SimulatedDisk()
  planted.disk?.(disk)
  let backup: SimulatedDisk | undefined
  let living: Living | undefined
  let last: Living | undefined
  let booting: Life | undefined
  const endpoint = endpointOf(node, () => living)

  function die(survival: Survival): void {
    const life = living ?? booting
    if (!life) return
    life.isAlive = false
    last = living ?? last
    living = booting = undefined
    weather.stepsToLive = weather.callsToLive = Number.POSITIVE_INFINITY
    disk = disk.afterPowerCut(survival)
    planted.disk?.(disk)
    world.note(`${name} dies`)
    net.remove(self)
  }

  const kill = (isPower: boolean): void =>
    die(isPower ? { names: random.next, data: random.next } : { names: 'all', data: 'all' })

  async function boot(): Promise<void> {
    if (living || booting) return
    const life: Life = { isAlive: true }
    booting = life
    world.note(`${name} boots`)
    try {
      const born = await openLife(life, { disk, last }, node)
      if (!life.isAlive) return
      booting = undefined
      living = born
      net.add(self, endpoint)
      world.note(`${name} lives`)
    } catch (error) {
      if (!life.isAlive) return
      life.isAlive = false
      booting = undefined
      world.note(`${name} cannot start: ${(error as Error).message}`)
      if (!weather.disk && !node.isDamaged) checks.failed(`it cannot start: ${(error as Error).stack}`)
      world.after(RESTART_MS, () => void boot())
    }
  }

  return {
    ...{ kill, boot },
    get living() {
      return living
    },
    get disk() {
      return disk
    },
    /** Its owner makes a backup or, if there is one, kills the node and puts back its disk as it was then. */
    backUp(): void {
      if (backup === undefined) {
        backup = disk.afterPowerCut({ names: 'all', data: 'all' })
        return
      }
      kill(false)
      disk = backup
      planted.disk?.(disk)
      backup = undefined
      checks.putBack()
    },
  }
}

function endpointOf({ self, world, net }: Lasting, living: () => Living | undefined) {
  return {
    onGossip: (from: string, data: Uint8Array) => living()?.onGossip(from, data),
    onQuestion: (from: string, protocol: string, question: Uint8Array) =>
      living()?.answer(from, protocol, question) ?? [],
    onConnected(peer: string) {
      const now = living()
      now?.exchange.onConnected(peer)
      // After the greeting.
      world.after(200, () => {
        if (now?.isAlive && net.neighbours(self).has(peer)) now.exchange.onGreeted(peer)
      })
    },
    onDisconnected: (peer: string) => living()?.exchange.onDisconnected(peer),
  }
}

/** Bits of a file change while nobody looks. */
function rot(disk: SimulatedDisk, node: Lasting): void {
  const { random } = node
  const files = disk.files().filter((path) => path.startsWith('/home/checkpoints/'))
  const folders = new Set(files.map((path) => path.split('/')[3]))
  // With a single checkpoint, which may be damaged, a node rightly waits for its owner.
  if (node.isDamaged || folders.size < 3) return
  node.isDamaged = true
  disk.corrupt(random.pick(files), (bytes) => {
    const changed = Uint8Array.from(bytes)
    if (changed.length > 0)
      changed[Math.floor(random.next() * changed.length)]! ^= 1 << Math.floor(random.next() * 8)
    return changed
  })
}
