// Does a look-up by the policy's states find the right text more often than one by words?
// `npm run -s experiment:retrieval [-- --model FILE.gguf --texts workings --questions 8]`
//
// The library has texts of every built-in task of one turn, from the task's own worked solutions: the methods, or, with
// `--texts workings`, the working of one training question without its answer. Held-out questions of each task look it
// up. Right is a text of the question's task. Nothing is trained. Prints the share of
// questions whose nearest text is right, and adds a line to the records.

import { appendFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { parseArgs } from 'node:util'
import { loadModel } from '../../../daemon/policy/model.ts'
import { heldOutPrompts } from '../../../daemon/rollout/evaluation/held-out.ts'
import { createTaskBook } from '../../../daemon/rollout/tasks.ts'
import { nodeDisk as disk } from '../../../daemon/store/node-disk.ts'
import { createLibrary } from '../../../plugins/skills/library/library.ts'
import { createRetrieval, RETRIEVALS } from '../../../plugins/skills/library/retrieval.ts'
import { TASKS } from '../../../plugins/tasks/index.ts'
import { promptKey, type Step } from '../../../protocol/train/index.ts'
import { markdown, percent } from '../../lab/frame/statistics.ts'
import { createLocalEngine } from '../in-process/engine.ts'
import { createPluginContext } from '../in-process/plugin-context.ts'
import { folderOf } from '../in-process/start.ts'

const { values: flags } = parseArgs({
  options: {
    model: { type: 'string' },
    texts: { type: 'string', default: 'methods' },
    questions: { type: 'string', default: '8' },
    threads: { type: 'string', default: '1' },
    out: { type: 'string', default: 'docs/results/retrieval.jsonl' },
  },
})
const KINDS: Record<string, { seeds: number; isShown(step: Step): boolean }> = {
  methods: { seeds: 4, isShown: ({ level }) => level === 1 },
  workings: { seeds: 1, isShown: ({ level }) => level > 1 && level < 5 },
}
const kind = KINDS[flags.texts]
if (!kind) throw new Error(`--texts is ${Object.keys(KINDS).join(' or ')}`)

const model = await loadModel(flags.model ?? folderOf('three-tasks'), { disk })
const engine = createLocalEngine({ threads: Number(flags.threads) })
await engine.open({ spec: model.spec, weights: model.weights })
const tasks = TASKS.filter(({ environment }) => !environment)
const book = createTaskBook(
  tasks,
  tasks.map(({ name, difficulty }) => ({ name, difficulty: difficulty.default })),
)
const context = createPluginContext(
  { seed: 1, step: 0, name: 'retrieval' },
  { sampler: engine, scorer: engine, tokenizer: model.tokenizer, tasks: book, maxNewTokens: 1 },
)

const library = createLibrary({ zones: { method: 256 }, characters: 600 })
for (const { name, version, difficulty } of tasks) {
  for (let seed = 0; seed < kind.seeds; seed++) {
    const at = { task: name, taskVersion: version, seed, difficulty: difficulty.default }
    const { steps } = book.find(name, version)!.generate(at)
    const text = steps.flatMap((step) => (kind.isShown(step) && !step.aside ? [step.text] : [])).join('\n')
    const from = promptKey(at)
    const entry = library.admit({ text, zone: 'method', score: 0, from, author: 'self', step: 0 })
    if (entry) library.put(entry)
  }
}
const entries = library.entries()
const taskOf = (from: string): string => from.split('@')[0]!

const rows: { by: string; first: number; third: number; asked: number }[] = []
for (const by of RETRIEVALS) {
  const retrieval = createRetrieval(by)
  let [first, third, asked] = [0, 0, 0]
  for (const task of tasks.filter(({ name }) => entries.some(({ from }) => taskOf(from) === name))) {
    for (const at of await heldOutPrompts(task, task.difficulty.default, Number(flags.questions))) {
      const found = await retrieval.nearest(entries, task.generate(at).question, context)
      const place = found.findIndex(({ from }) => taskOf(from) === task.name)
      first += place === 0 ? 1 : 0
      third += place < 3 ? 1 : 0
      asked += 1
    }
  }
  rows.push({ by, first, third, asked })
}
const name = basename(flags.model ?? 'three-tasks')
await appendFile(
  flags.out,
  `${JSON.stringify({ model: name, texts: flags.texts, entries: entries.length, rows })}\n`,
)
console.log(
  `${name}: ${entries.length} ${flags.texts} of ${new Set(entries.map(({ from }) => taskOf(from))).size} tasks`,
)
console.log(
  markdown(
    ['by', 'nearest is right', 'right among three', 'questions'],
    rows.map(({ by, first, third, asked }) => [
      by,
      percent(first / asked),
      percent(third / asked),
      `${asked}`,
    ]),
  ),
)
await engine.close()
