// Plugins without a node: lists, checks, new ones, packages, hooks on data.

import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { afterAll, expect, test } from 'vitest'
import { TEMPLATES } from '../../daemon/cli/plugins/templates.ts'
import { timed } from '../../daemon/cli/plugins/timed.ts'
import { freshHome, type Result, removeHomes, waggle } from './run-cli.ts'

afterAll(removeHomes)

const homeWith = (config: string): string => {
  const home = freshHome()
  writeFileSync(join(home, 'config.toml'), config)
  return home
}

const run = (words: string[], input: unknown, home = freshHome()): Promise<Result> =>
  waggle(['plugins', 'run', ...words, '--home', home], {
    stdin: Readable.from([typeof input === 'string' ? input : JSON.stringify(input)]) as never,
  })

test('list shows what comes along and what the config uses, with needs and places', async () => {
  const home = homeWith('[rollout]\nprompts = 16\n\n[[replay]]\nuse = "dots"\n')
  const { status, stdout } = await waggle(['plugins', 'list', '--json', '--home', home])
  expect(status).toBe(0)
  const { plugins } = JSON.parse(stdout) as {
    plugins: { used: boolean; name: string; needs: string[]; slots: string[] }[]
  }
  const of = (name: string) => plugins.find((plugin) => plugin.name === name)
  expect(of('grpo')).toMatchObject({ used: true, slots: ['estimator'] })
  expect(of('dots')).toMatchObject({ used: true, needs: ['recurring'] })
  expect(of('hill')?.used).toBe(false)
  expect((await waggle(['plugins', 'list', '--home', home])).stdout).toMatch(/^\* +replay +dots +recurring/m)
})

test('list leads with what to try first, and list more has the others with what was measured', async () => {
  const home = homeWith('')
  const first = await waggle(['plugins', 'list', '--home', home])
  expect(first.stdout).toMatch(/^ +estimator +rloo /m)
  expect(first.stdout).not.toMatch(/remax/)
  expect(first.stdout.split('\n').length).toBeLessThan(40)
  expect(first.stderr).toMatch(/\d+ more: `waggle plugins list more`/)
  const more = await waggle(['plugins', 'list', 'more', '--home', home])
  expect(more.stdout).toMatch(/^estimator +remax .*Measured: reward −3.9 ± 3.0 points/m)
  expect(more.stdout).toMatch(/^correction +kl_cov .*Measured: no\.$/m)
  expect(more.stdout).not.toMatch(/ rloo /)
  const wrong = await waggle(['plugins', 'list', 'less', '--home', home])
  expect(wrong).toMatchObject({ status: 2, stderr: expect.stringContaining('takes "more", or nothing') })
})

test('a renamed plugin and a deleted one that did nothing still pass the check, with a notice', async () => {
  const config =
    '[rollout]\nprompts = 16\n\n[[replay]]\nuse = "r3"\n\n[[corrections]]\nuse = "clip"\n\n[[corrections]]\nuse = "dagrpo_like"\n'
  const { status, stdout, stderr } = await waggle(['plugins', 'check', '--home', homeWith(config)])
  expect({ status, stdout }).toMatchObject({
    status: 0,
    stdout: expect.stringContaining('replay/r3_like'),
  })
  expect(stderr).toContain('"r3" is now called "r3_like"')
  expect(stderr).toContain('"dagrpo_like": it is gone')
})

test('check says ok, or tells every problem with its cure', async () => {
  const good = await waggle(['plugins', 'check', '--home', homeWith('')])
  expect(good).toMatchObject({
    status: 0,
    stdout: expect.stringMatching(/^ok {2}estimator\/grpo, correction\/clip/),
  })
  const bad = await waggle([
    'plugins',
    'check',
    '--home',
    homeWith('[estimator]\nuse = "gropo"\n\n[[hints]]\nuse = "./missing.ts"\n\n[[replay]]\nuse = "dots"\n'),
  ])
  expect(bad.status).toBe(4)
  expect(bad.stderr).toMatch(/estimator "gropo": there is no such plugin; the built-in ones are grpo,/)
  expect(bad.stderr).toMatch(/hint ".\/missing.ts": there is no file/)
  expect(bad.stderr).toMatch(/replay "dots" needs recurring prompts.*set rollout\.prompts/)
})

test('a correction that misspells a column is told of it, with or without a config', async () => {
  const home = homeWith('[[corrections]]\nuse = "clip"\n\n[[corrections]]\nuse = "./typo.mjs"\n')
  writeFileSync(
    join(home, 'typo.mjs'),
    `const settings = { '~standard': { version: 1, vendor: 'none', validate: () => ({ value: {} }) } }
    export default { name: 'typo', kind: 'correction', api: 1, summary: 'Misspelt.', settings,
      create: () => ({ correct: () => ({ weight: { column: 'stalenes' } }) }) }`,
  )
  const message =
    /correction "typo" reads a column "stalenes", which .* Did you mean "staleness"\? There are logprob, entropy/
  const whole = await waggle(['plugins', 'check', '--home', home])
  expect(whole).toMatchObject({ status: 4, stderr: expect.stringMatching(message) })
  const alone = await waggle(['plugins', 'check', join(home, 'typo.mjs'), '--home', home])
  expect(alone).toMatchObject({ status: 4, stderr: expect.stringMatching(message) })
})

test('a plugin made by new passes its own tests, and the conformance checks, whatever its kind', async () => {
  const folder = freshHome()
  const env = { XDG_CONFIG_HOME: folder }
  const names = Object.keys(TEMPLATES).map((kind) => `my_${kind}`)
  for (const kind of Object.keys(TEMPLATES)) {
    const { status, stdout } = await waggle(['plugins', 'new', kind, `my_${kind}`], { env, cwd: folder })
    expect(status).toBe(0)
    expect(stdout).toContain(`use = "../my_${kind}/my_${kind}.ts"`)
  }
  const out = execFileSync(
    process.execPath,
    [
      '--conditions=waggle-source',
      '--test',
      '--test-isolation=none',
      ...names.map((name) => `${name}/${name}.test.ts`),
    ],
    { cwd: folder, encoding: 'utf8' },
  )
  expect(out).toMatch(/fail 0/)
}, 30_000)

test('new refuses what is there already, and kinds and names that are none', async () => {
  const folder = freshHome()
  mkdirSync(join(folder, 'mine'))
  const refused = async (...words: string[]) =>
    (await waggle(['plugins', 'new', ...words], { cwd: folder })).stderr
  expect(await refused('hint', 'mine')).toMatch(/already exists/)
  expect(await refused('hnit', 'other')).toMatch(/Did you mean "hint"/)
  expect(await refused('hint', 'Not/Good')).toMatch(/is not a valid plugin name/)
  expect(await refused('hint')).toMatch(/takes a kind and a name/)
})

test('run calls pure hooks on data', async () => {
  const two = [{ rollouts: [{ reward: 1 }, { reward: 0 }] }]
  const said = async (id: string, input: unknown) => JSON.parse((await run([id], input)).stdout)
  const { advantages } = await said('estimator/rloo', { hook: 'advantage', groups: two })
  expect(advantages).toEqual([[1, -1]])
  const { groups } = await said('correction/zero_signal', {
    hook: 'group',
    groups: [...two, { rollouts: [{ reward: 1 }, { reward: 1 }] }],
  })
  expect(groups).toHaveLength(1)
  const row = { columns: { logprob: [0, 0], proximal: [0, 0], advantage: [2, -1], mask: [1, 1] } }
  expect(await said('correction/clip', { hook: 'correct', rows: [row] })).toMatchObject({
    loss: [[-2, 1]],
    metrics: { ratio: 1 },
  })
  expect(
    await said('correction/kl', {
      hook: 'columns',
      settings: { target: 0.1, coefficient: 0.5 },
      groups: two,
      advantages: [[1, -1]],
    }),
  ).toMatchObject({ columns: { coefficient: 0.5 }, metrics: { coefficient: 0.5 } })
  const candidates = [{ seed: 1 }, { seed: 2 }]
  expect((await said('replay/dots', { hook: 'weigh', candidates })).weights).toHaveLength(2)
  const asks = (
    await said('selector/uniform', {
      hook: 'select',
      want: 1,
      candidates,
      weights: [0, 1],
      tasks: [{ name: 'a' }],
    })
  ).asks
  expect(asks[0].prompt.seed).toBe(2)
})

test('run gives what the released code of methods by turn gives', async () => {
  const said = async (id: string, input: unknown) => JSON.parse((await run([id], input)).stdout)
  const groups = [
    {
      rollouts: [
        { reward: 0, turns: [{ state: 'c' }] },
        { reward: 1, turns: [{ state: 'c' }, { state: 'a' }, { state: 'c', reward: 1 }] },
        { reward: 0.5, turns: [{ state: 'c', reward: 0.5 }] },
      ],
    },
  ]
  const hgpo = await said('estimator/hgpo', { hook: 'advantage', settings: { history: 1 }, groups })
  const rounded = (rows: number[][]) => rows.map((row) => row.map((value) => Number(value.toFixed(4))))
  expect(rounded(hgpo.advantages[0])).toEqual([[-1.5237], [0.7658, 0, 1.0132], [-0.2553]])
  const settings = { history: 1, episode: true }
  const whole = await said('estimator/hgpo', { hook: 'advantage', settings, groups })
  expect(rounded(whole.advantages[0])).toEqual([[-1.5376], [0.7342, 0.6708, 0.8991], [-0.3193]])
  // What stands between turns is not the policy's, and gets nothing.
  const masked = [
    {
      rollouts: [
        {
          reward: 1,
          tokens: [5, 3, 9],
          lossMask: [1, 0, 1],
          turns: [{ state: 's' }, { state: 't', start: 2, reward: 1 }],
        },
        {
          reward: 0,
          tokens: [6, 3, 8],
          lossMask: [1, 0, 1],
          turns: [{ state: 's' }, { state: 't', start: 2 }],
        },
      ],
    },
  ]
  const gigpo = await said('estimator/gigpo', { hook: 'advantage', settings: { gamma: 1 }, groups: masked })
  expect(gigpo.advantages).toEqual([
    [
      [1, 0, 1],
      [-1, 0, -1],
    ],
  ])
})

test('run shows loss, penalty, gradient and metrics of a correction as the trainer has them', async () => {
  const said = async (id: string, columns: unknown, settings = {}) =>
    JSON.parse((await run([id], { hook: 'correct', settings, rows: [{ columns }] })).stdout)
  const far = {
    logprob: [-9, -1],
    proximal: [-9, -1],
    behaviour: [-0.5, -1],
    known: [1, 1],
    advantage: [-1, 2],
  }
  const dppo = await said('correction/dppo', far)
  expect(dppo.gradient[0][0]).toBeCloseTo(-0.017, 9)
  expect(dppo.gradient[0][1]).toBeCloseTo(-2, 9)
  expect(dppo.loss[0][0]).toBeCloseTo(0.07225, 9)
  const kl = await said(
    'correction/kl',
    { logprob: [-1, -2], reference: [-2, -2] },
    { estimator: 'k2', coefficient: 0.5 },
  )
  expect(kl).toMatchObject({ penalty: [[0.25, 0]], gradient: [[0.5, 0]], metrics: { divergence: 0.25 } })
  const held = { logprob: [-1, -2], behaviour: [-2, -2], known: [1, 1] }
  expect(await said('correction/kl_cov', held)).toMatchObject({ penalty: [[0, 0]], metrics: { penalty: 0 } })
  expect(await said('correction/kl_cov', { ...held, 'kl_cov.held': [1, 0] })).toMatchObject({
    penalty: [[1, 0]],
  })
  const clip = { logprob: [0, -1], proximal: [0, -2], advantage: [1, 1], mask: [1, 0] }
  expect((await said('correction/clip', clip)).metrics).toMatchObject({ ratio: 1, clip_high: 0 })
})

test('run refuses lists that do not fit together, and says which', async () => {
  const wrong = async (id: string, input: unknown) => (await run([id], input)).stderr
  const ragged = [{ columns: { logprob: [0, 0], proximal: [0], advantage: [1, 1] } }]
  expect(await wrong('correction/clip', { hook: 'correct', rows: ragged })).toMatch(
    /rows\.0\.columns\.proximal: has 1 numbers where logprob has 2/,
  )
  expect(await wrong('correction/clip', { hook: 'correct', rows: [{ columns: { logprob: [0] } }] })).toMatch(
    /rows\.0\.columns lacks advantage, proximal/,
  )
  const groups = (rollout: object) => ({
    hook: 'advantage',
    groups: [{ rollouts: [{ reward: 1, ...rollout }] }],
  })
  expect(await wrong('estimator/grpo', groups({ tokens: [1, 2], lossMask: [1] }))).toMatch(
    /groups\.0\.rollouts\.0\.lossMask: has 1 numbers for 2 tokens/,
  )
  expect(await wrong('estimator/hgpo', groups({ length: 2, turns: [{ state: 's', length: 3 }] }))).toMatch(
    /groups\.0\.rollouts\.0\.turns: end at token 3 of 2/,
  )
  const columns = { hook: 'columns', settings: { target: 0.1 }, groups: [{ rollouts: [{ reward: 1 }] }] }
  expect(await wrong('correction/kl', { ...columns, advantages: [[1, 2]] })).toMatch(
    /advantages do not match the groups/,
  )
})

test('run says what is wrong with its input', async () => {
  const wrong = async (id: string, input: unknown) => (await run([id], input)).stderr
  expect(await wrong('estimator/grpo', '{')).toMatch(/the input is not JSON/)
  expect(await wrong('estimator/grpo', { hook: 'advantage', groups: [{ rollouts: [] }], extra: 1 })).toMatch(
    /groups\.0\.rollouts: .*\n.*extra/,
  )
  expect(await wrong('estimator/grop', {})).toMatch(/Did you mean "estimator\/grpo"/)
  expect(await wrong('estimator/grpo', { hook: 'modify', groups: [], advantages: [] })).toMatch(
    /has no modify hook[\s\S]*can be run: advantage/,
  )
  expect(await wrong('estimator/grpo', { hook: 'advantage', settings: { stdd: 1 }, groups: [] })).toMatch(
    /settings.*stdd/,
  )
})

test.each(['check', 'run'])('%s of a plugin by its name alone says its id', async (action) => {
  const { status, stderr } = await waggle(['plugins', action, 'grpo', '--home', freshHome()])
  expect([status, stderr]).toEqual([2, expect.stringContaining(`that is "estimator/grpo"`)])
})

test('check of one plugin runs the rules that all keep to', async () => {
  const { status, stdout } = await waggle(['plugins', 'check', 'estimator/grpo', '--home', freshHome()])
  expect(status).toBe(0)
  expect(stdout).toMatch(/^ok {4}decides the same again from the same seed$/m)
  const file = join(freshHome(), 'broken.mjs')
  writeFileSync(
    file,
    `const settings = { '~standard': { version: 1, vendor: 'none', validate: () => ({ value: {} }) } }
    export default { name: 'broken', kind: 'control', api: 1, summary: 'Broken.', settings, create: () => ({ modify: () => [] }) }`,
  )
  const broken = await waggle(['plugins', 'check', file, '--home', freshHome()])
  expect(broken.status).toBe(4)
  expect(broken.stdout).toMatch(/^FAIL {2}trains on what was sampled/m)
  expect(broken.stderr).toMatch(/its advantages do not fit the groups/)
})

test('check says a reason once, with the number of the checks that have it', async () => {
  const file = join(freshHome(), 'typo.mjs')
  writeFileSync(
    file,
    `const settings = { '~standard': { version: 1, vendor: 'none', validate: () => ({ value: {} }) } }
    export default { name: 'typo', kind: 'hint', api: 1, summary: 'Typo.', settings, create: () => ({ compoze: () => {} }) }`,
  )
  const { status, stderr } = await waggle(['plugins', 'check', file, '--home', freshHome()])
  expect(status).toBe(4)
  expect(stderr).toMatch(
    /hint\/typo says who it is.* \(and \d+ more\): compoze is no hook\. Did you mean "compose"\?/,
  )
  expect(stderr.match(/compoze/g)).toHaveLength(1)
})

test('check finds a plugin that writes into what it is given', async () => {
  const file = join(freshHome(), 'writes.mjs')
  writeFileSync(
    file,
    `const settings = { '~standard': { version: 1, vendor: 'none', validate: () => ({ value: {} }) } }
    const advantage = (groups) => groups.map(({ rollouts }) => rollouts.map((rollout) => (rollout.tokens[0] = 3)))
    export default { name: 'writes', kind: 'estimator', api: 1, summary: 'Writes.', settings, create: () => ({ advantage }) }`,
  )
  const { status, stderr } = await waggle(['plugins', 'check', file, '--home', freshHome()])
  expect(status).toBe(4)
  expect(stderr).toMatch(/changed tokens or other numbers of rollouts that it was given/)
})

test('a check that waits for ever ends with its reason', async () => {
  await expect(timed(() => new Promise(() => {}), 20)).rejects.toThrow(
    'took longer than 0.02 s: a hook computes or waits for ever',
  )
  expect(await timed(async () => 'done')).toBe('done')
})
