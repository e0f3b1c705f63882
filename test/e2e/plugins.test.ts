// Plugins of somebody else, outside this repository: a package that npm installs and a file beside the config. A real
// node runs them, one of them fails until it is switched off, and the node goes on learning.

import { execFile } from 'node:child_process'
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, expect, test } from 'vitest'
import { killAll, startDaemon, temporary, waggle } from './daemon.ts'

const run = promisify(execFile)

/** A package as its author publishes it: JavaScript, Waggle and zod taken from whoever runs it. */
const PACKAGE = {
  'package.json': JSON.stringify({
    name: 'waggle-plugin-flaky',
    version: '1.2.3',
    type: 'module',
    exports: { '.': { import: './index.js' } },
    peerDependencies: { waggle: '*', zod: '*' },
  }),
  'index.js': `import { definePlugin } from 'waggle/plugin'
import { z } from 'zod'
export default definePlugin({
  name: 'flaky',
  kind: 'control',
  api: 1,
  summary: 'Works for a while.',
  settings: z.strictObject({ works: z.int().default(3) }),
  create({ works }) {
    let calls = 0
    return {
      commit(_, context) {
        calls += 1
        context.metric('calls', calls)
        if (calls > works) throw new Error('it has had enough')
      },
    }
  },
})
`,
}

/** TypeScript as it is. */
const FILE = `import { definePlugin } from 'waggle/plugin'
import { z } from 'zod'

interface Settings { text: string }

export default definePlugin<Settings>({
  name: 'advice',
  kind: 'hint',
  api: 1,
  summary: 'Gives advice.',
  settings: z.strictObject({ text: z.string() }),
  create: ({ text }: Settings) => ({
    compose: () => ({ before: text, arm: 'advice', tainted: false }),
  }),
})
`

/** Computes without end: at once, or after it has waited for the engine. */
const stuck = (name: string, before: string): string => `import { definePlugin } from 'waggle/plugin'
import { z } from 'zod'

export default definePlugin({
  name: '${name}',
  kind: 'control',
  api: 1,
  summary: 'Never comes back.',
  settings: z.strictObject({}),
  manifest: { budget: () => ({ hookMs: 300 }) },
  create: () => ({
    async observe(groups, context) {
      ${before}
      while (groups) {}
    },
  }),
})
`

afterAll(killAll)

test('hooks that compute without end are ended, and switched off, while the node goes on', async () => {
  const home = await temporary()
  await writeFile(join(home.path, 'stuck.ts'), stuck('stuck', ''))
  const scored = 'await context.score([{ conditioning: Int32Array.of(1), completion: Int32Array.of(2) }])'
  await writeFile(join(home.path, 'later.ts'), stuck('later', scored))
  await writeFile(
    join(home.path, 'config.toml'),
    '[[controls]]\nuse = "./stuck.ts"\n\n[[controls]]\nuse = "./later.ts"\n',
  )
  const node = await startDaemon(home.path, { settings: ['swarm.enabled=false', 'training.batch_groups=1'] })
  const isOff = (name: string) => (snapshot: Awaited<ReturnType<typeof node.client.snapshot>>) =>
    snapshot.plugins?.some((one) => one.name === name && one.state === 'off')
  for (const name of ['stuck', 'later']) {
    const { plugins } = await node.until(`${name} is off`, isOff(name))
    expect(plugins?.find((one) => one.name === name)?.message).toBe('took longer than 300 ms')
  }
  const { training } = await node.client.snapshot()
  await node.until(
    'it has learnt on',
    (snapshot) => (snapshot.training?.step ?? 0) > (training?.step ?? 0) + 2,
  )
  expect((await node.stop()).status).toBe(0)
  await home.remove()
}, 120_000)

test('a package and a file are added, run, fail, are switched off, and the node goes on', async () => {
  const place = await temporary()
  const [source, home] = [join(place.path, 'source'), join(place.path, 'home')]
  for (const folder of [source, home]) await mkdir(folder)
  for (const [name, text] of Object.entries(PACKAGE)) await writeFile(join(source, name), text)
  await run('npm', ['pack', '--silent', '--pack-destination', place.path], { cwd: source })
  const tarball = (await readdir(place.path)).find((name) => name.endsWith('.tgz'))!

  const added = await waggle(['plugins', 'add', join(place.path, tarball), '--home', home])
  expect(added).toMatchObject({ status: 0, stdout: expect.stringContaining('use = "waggle-plugin-flaky"') })
  await writeFile(join(home, 'advice.ts'), FILE)
  await writeFile(
    join(home, 'config.toml'),
    '[[hints]]\nuse = "./advice.ts"\ntext = "Take care. "\n\n[[controls]]\nuse = "waggle-plugin-flaky"\nworks = 2\n',
  )
  const checked = await waggle(['plugins', 'check', '--home', home])
  expect(checked).toMatchObject({ status: 0, stdout: expect.stringMatching(/hint\/advice.*control\/flaky/) })

  const node = await startDaemon(home, {
    settings: ['swarm.enabled=false', 'training.batch_groups=1', 'rollout.group_size=8'],
  })
  const ofNode = async (name: string, state: string) =>
    node.until(`${name} is ${state}`, ({ plugins }) =>
      plugins?.some((one) => one.name === name && one.state === state),
    )
  const off = await ofNode('flaky', 'off')
  expect(off.plugins?.find(({ name }) => name === 'flaky')?.message).toBe('it has had enough')
  expect(off.alerts?.map(({ message }) => message)).toContainEqual(
    expect.stringMatching(/plugin flaky is off: commit: it has had enough/),
  )
  const step = off.training!.step
  // The model hardly answers a question that begins with other words, so a step is rare.
  const later = await node.until('it has learnt on', ({ training }) => training!.step > step, 90_000)
  expect(later.plugins?.find(({ name }) => name === 'advice')?.state).toBe('ok')
  const { groups } = await node.client.groups({ limit: 4 })
  expect(new Set(groups.map(({ arm }) => arm))).toEqual(new Set(['advice']))
  expect((await node.stop()).status).toBe(0)
  await place.remove()
}, 180_000)

test('a package that is no plugin is refused by name, and a config with it does not start', async () => {
  const place = await temporary()
  const [source, home] = [join(place.path, 'not-a-plugin'), join(place.path, 'home')]
  for (const folder of [source, home]) await mkdir(folder)
  await writeFile(
    join(source, 'package.json'),
    '{ "name": "not-a-plugin", "version": "1.0.0", "type": "module", "main": "i.js" }',
  )
  await writeFile(join(source, 'i.js'), 'export default 7\n')
  const added = await waggle(['plugins', 'add', source, '--home', home])
  expect(added.status).toBe(4)
  expect(added.stderr).toMatch(/not-a-plugin was installed but is not a plugin.*npm uninstall/s)
  await writeFile(
    join(home, 'config.toml'),
    '[[controls]]\nuse = "not-a-plugin"\n\n[[hints]]\nuse = "./gone.ts"\n',
  )
  const up = await waggle(['up', '--no-swarm', '--home', home])
  expect(up.status).toBe(4)
  expect(up.stderr).toMatch(/control "not-a-plugin": the default export of the module is not a plugin/)
  expect(up.stderr).toMatch(/hint ".\/gone.ts": there is no file/)
  expect(up.stderr).toContain('E_PLUGIN')
  await place.remove()
}, 60_000)
