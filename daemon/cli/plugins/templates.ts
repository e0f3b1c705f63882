// Template plugins for `waggle plugins new`, one for each kind: small and working, with one test each. The conformance
// tests run on them in test/cli/plugins.test.ts.

interface Template {
  /** What the plugin does; becomes its summary. */
  summary: string
  /** Settings, as lines of a zod object. */
  settings: string
  /** Lines of the manifest, if it needs one. */
  manifest?: string
  imports?: readonly string[]
  /** Whether it uses the Group type. */
  group?: true
  /** The settings that `create` uses. */
  takes: string
  /** Body of `create`. */
  body: string
  /** Body of a test, which can use `hooks` and `context`. */
  test: string
  testImports?: readonly string[]
}

const GROUPS = `const group = { prompt: { task: 'sums', taskVersion: 1, seed: 7, difficulty: 2 }, rollouts: [{ reward: 1 }, { reward: 0 }] } as never`

export const TEMPLATES: Record<string, Template> = {
  estimator: {
    summary: 'Reward minus the mean of the group.',
    settings: '',
    takes: '',
    body: `return {
  // One advantage per rollout of each group; a Float32Array gives one per token.
  advantage: (groups) =>
    groups.map(({ rollouts }) => {
      const mean = rollouts.reduce((sum, { reward }) => sum + reward, 0) / rollouts.length
      return rollouts.map(({ reward }) => reward - mean)
    }),
}`,
    test: `${GROUPS}
assert.deepEqual(await hooks.advantage!([group], context), [[0.5, -0.5]])`,
  },
  correction: {
    summary: 'Older tokens count less.',
    settings: '/** Factor for each version of age. */\n    keep: z.number().min(0).max(1).default(0.9),',
    imports: ['expression'],
    takes: 'keep',
    body: `const { column, exp, mul } = expression
return {
  // A detached factor on each token's loss: keep ** (age in policy versions).
  correct: () => ({ weight: exp(mul(Math.log(Math.max(keep, 1e-6)), column('staleness'))) }),
}`,
    testImports: ['expression'],
    test: `const { weight } = hooks.correct!()
const weights = expression.evaluate(weight!, { staleness: [0, 1, 2] })
assert.deepEqual(Array.from(weights, (value) => value.toFixed(2)), ['1.00', '0.90', '0.81'])`,
  },
  hint: {
    summary: 'Adds advice to a share of the prompts.',
    settings:
      "text: z.string().default('Check the answer before you give it. '),\n    share: z.number().min(0).max(1).default(0.5),",
    takes: 'text, share',
    body: `return {
  // Text before the question. It does not reveal the answer, so it is not tainted.
  compose({ prompt }, context) {
    const random = context.random(\`share/\${context.step}/\${prompt.seed}\`)
    return random() < share ? { before: text, arm: 'hint', tainted: false } : undefined
  },
}`,
    test: `const prompt = { task: 'sums', taskVersion: 1, seed: 7, difficulty: 2 }
const seen = Array.from({ length: 40 }, (_, seed) =>
  hooks.compose!({ prompt: { ...prompt, seed }, question: '?', turn: 0 }, context) ? 1 : 0,
)
assert.ok(seen.includes(1) && seen.includes(0))`,
  },
  replay: {
    summary: 'Trains again on the newest group with a correct answer.',
    settings: '/** In steps; older groups are dropped. */\n    age: z.int().min(1).default(4),',
    imports: ['type Context'],
    group: true,
    takes: 'age',
    body: `let kept: { step: number; group: Group } | undefined
return {
  // Called with the own groups of a round, and again with each batch.
  group(groups, { at }, context: Context) {
    if (at !== 'batch') return groups
    const isKnown = ({ rollouts }: Group) => rollouts.every(({ behaviourLogprobs }) => behaviourLogprobs)
    const old = kept && context.step - kept.step <= age ? kept.group : undefined
    const good = groups.find((group) => isKnown(group) && group.rollouts.some(({ reward }) => reward >= 1))
    if (good) kept = { step: context.step, group: good }
    if (!old || groups.includes(old)) return groups
    // \`replayed\` marks a rollout as old on purpose. It needs its behaviour log-probs.
    const rollouts = old.rollouts.map((rollout) => ({ ...rollout, replayed: 1 }))
    return [...groups, { ...old, id: \`\${old.id}-again\`, rollouts }]
  },
  // The state saved in checkpoints. Typed arrays keep their type.
  save: () =>
    new TextEncoder().encode(
      JSON.stringify(kept ?? null, (_, value) =>
        ArrayBuffer.isView(value) ? { [value.constructor.name]: Array.from(value as Int32Array) } : value,
      ),
    ),
  load(state) {
    kept =
      JSON.parse(new TextDecoder().decode(state), (_, value) =>
        value?.Int32Array ? Int32Array.from(value.Int32Array) : value?.Float32Array ? Float32Array.from(value.Float32Array) : value,
      ) ?? undefined
  },
}`,
    test: `const rollout = (reward: number) => ({ reward, tokens: Int32Array.of(1), behaviourLogprobs: Float32Array.of(-1) })
const group = { id: 'a', prompt: {}, rollouts: [rollout(1), rollout(0)] } as never
const view = { lineage: '', tokenizer: '', version: 0, self: '', at: 'batch' as const }
assert.equal((await hooks.group!([group], view, context)).length, 1)
assert.equal((await hooks.group!([], view, context)).length, 1)`,
  },
  skill: {
    summary: 'Shows the newest correct answer to another prompt.',
    settings: '/** Maximum length in characters. */\n    longest: z.int().min(1).max(4000).default(200),',
    manifest: "testTime: 'never',",
    takes: 'longest',
    body: `let library: Record<string, string> = {}
return {
  compose({ prompt }) {
    const text = library[prompt.task]
    return text === undefined
      ? undefined
      : { before: \`An answer to another question was:\\n\${text}\\n\\n\`, arm: 'skill', tainted: false, items: [prompt.task] }
  },
  observe(groups) {
    for (const { prompt, rollouts } of groups) {
      const good = rollouts.find(({ reward, taskReward = reward }) => taskReward >= 1)
      if (good) library[prompt.task] = good.text.slice(0, longest)
    }
  },
  // The state saved in checkpoints.
  save: () => new TextEncoder().encode(JSON.stringify(library)),
  load(state) {
    library = JSON.parse(new TextDecoder().decode(state))
  },
}`,
    test: `const prompt = { task: 'sums', taskVersion: 1, seed: 7, difficulty: 2 }
const view = { prompt, question: '?', turn: 0 }
assert.equal(await hooks.compose!(view, context), undefined)
await hooks.observe!([{ prompt, rollouts: [{ reward: 1, text: 'forty-two' }] } as never], context)
assert.match((await hooks.compose!(view, context))!.before!, /forty-two/)`,
  },
  selector: {
    summary: 'Prefers prompts that were asked least often.',
    settings: '',
    manifest: "needs: ['recurring'],",
    takes: '',
    body: `let asked: Record<string, number> = {}
return {
  // One weight per candidate. The weights of several plugins are multiplied.
  weigh: (candidates) => candidates.map(({ task, seed }) => 1 / (1 + (asked[\`\${task}/\${seed}\`] ?? 0))),
  observe(groups) {
    for (const { prompt } of groups) {
      const key = \`\${prompt.task}/\${prompt.seed}\`
      asked[key] = (asked[key] ?? 0) + 1
    }
  },
  save: () => new TextEncoder().encode(JSON.stringify(asked)),
  load(state) {
    asked = JSON.parse(new TextDecoder().decode(state))
  },
}`,
    test: `const prompt = { task: 'sums', taskVersion: 1, seed: 7, difficulty: 2 }
await hooks.observe!([{ prompt } as never], context)
assert.deepEqual(await hooks.weigh!([prompt, { ...prompt, seed: 8 }], context), [0.5, 1])`,
  },
  control: {
    summary: 'Hard prompts count more.',
    settings:
      '/** Factor for a group that is nearly all wrong, relative to one that is half right. */\n    most: z.number().min(1).default(2),',
    takes: 'most',
    body: `return {
  // Changes advantages after the estimator.
  modify: (advantages, groups) =>
    advantages.map((rows, g) => {
      const { rollouts } = groups[g]!
      const right = rollouts.filter(({ reward }) => reward > 0.5).length / Math.max(1, rollouts.length)
      const factor = 1 + (most - 1) * (1 - Math.min(1, 2 * right))
      return rows.map((row) => (typeof row === 'number' ? row * factor : row.map((value) => value * factor)))
    }),
}`,
    test: `const right = { rollouts: [{ reward: 1 }, { reward: 0 }] } as never
const hard = { rollouts: [{ reward: 0 }, { reward: 0 }] } as never
assert.deepEqual(await hooks.modify!([[1, -1], [1, -1]], [right, hard], context), [[1, -1], [2, -2]])`,
  },
}
