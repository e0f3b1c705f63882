// What it costs to keep answers to a form: the grammar once, and for each token the mask and the draw, beside a step of
// decoding. Answers with and without a grammar take turns, so other programs slow both down.
//
//   node --import tsx scripts/bench/grammar.ts [model] [tokens] [rounds]

import { answerGrammar } from '../../daemon/agents/grammar/answers.ts'
import { createMasks } from '../../daemon/engine/grammar/masks.ts'
import { createOnnxEngine } from '../../daemon/engine/onnx/index.ts'
import { draw } from '../../daemon/engine/sampling/draw.ts'
import { loadModel } from '../../daemon/policy/model.ts'
import { nodeDisk } from '../../daemon/store/node-disk.ts'

const [path = 'models/three-tasks'] = process.argv.slice(2)
const [tokens = 64, rounds = 3] = process.argv.slice(3).map(Number)
const model = await loadModel(path, { disk: nodeDisk })
const { tokenizer, spec } = model
const tokenBytes = tokenizer.tokenBytes(spec.vocabulary)
const schema = {
  type: 'object',
  properties: {
    name: { type: 'string', maxLength: 40 },
    age: { type: 'integer', minimum: 0, maximum: 150 },
    hobbies: { type: 'array', items: { type: 'string' }, maxItems: 5 },
    about: { type: 'string' },
  },
  required: ['name', 'age', 'hobbies', 'about'],
  additionalProperties: false,
}

function timed<Result>(what: string, run: () => Result): Result {
  const started = performance.now()
  const result = run()
  console.log(`${what}: ${(performance.now() - started).toFixed(1)} ms`)
  return result
}
const grammar = timed('the grammar of a schema', () =>
  answerGrammar({ form: { kind: 'schema', schema }, tools: [], isSingle: false, isStrict: false }),
)!
const masks = createMasks(tokenBytes)
timed(`the first mask, and the vocabulary of ${spec.vocabulary} tokens in order`, () =>
  masks.of(grammar, tokenizer.stopTokens).allowed(),
)
const text = `{"name": "Ada", "age": 36, "hobbies": ["chess", "poems"], "about": "${'She likes numbers. '.repeat(6)}"}`
const written = tokenizer.encode(text)
for (const time of ['the first time', 'again'])
  timed(`masks of ${written.length} tokens, ${time}`, () => {
    const mask = masks.of(grammar, tokenizer.stopTokens)
    for (const token of written) {
      mask.allowed()
      mask.take(token)
    }
  })
const logits = Float32Array.from({ length: spec.vocabulary }, (_, i) => Math.sin(i * i) * 8)
const work = new Float64Array(spec.vocabulary)
const bits = masks.of(grammar, tokenizer.stopTokens).allowed()
for (const [what, mask] of [
  ['of all', undefined],
  ['of what is allowed', bits],
] as const)
  timed(`100 draws ${what}`, () => {
    for (let i = 0; i < 100; i++) draw(logits, { temperature: 1 }, i / 100, work, mask)
  })

const engine = createOnnxEngine({ threads: 1 })
await engine.open({ ...model, tokenBytes })
const prompt = tokenizer.encodeChat(
  [{ role: 'user', content: 'Describe a person. Answer with nothing but JSON: name, age, hobbies, about.' }],
  { prompt: true },
)
/** Of these, all tokens are drawn: a text whose places are all alike, and one that is counted, so no two are. */
const formOf = (regex: string) =>
  answerGrammar({ form: { kind: 'regex', regex }, tools: [], isSingle: false, isStrict: false })
const forms = { free: undefined, 'of a form': formOf('[^"]+'), 'of a counted form': formOf('[^"]{900,1000}') }
const ask = async (seed: number, more: object) => {
  const started = performance.now()
  const [sample] = await engine.generate({
    ...{ samples: [{ prompt, seed }], maxNewTokens: tokens, temperature: 1, stopTokens: [] },
    ...more,
  })
  return { sample: sample!, ms: (performance.now() - started) / sample!.tokens.length }
}
const costs = new Map<string, number[]>(Object.keys(forms).map((name) => [name, []]))
for (let round = 0; round <= rounds; round++)
  for (const [name, form] of Object.entries(forms)) {
    const { ms } = await ask(round, form ? { grammar: form } : {})
    // The first round opens sessions.
    if (round > 0) costs.get(name)!.push(ms)
  }
for (const [name, all] of costs)
  console.log(
    `a token, ${name}: ${all.sort((a, b) => a - b)[all.length >> 1]!.toFixed(1)} ms (median of ${rounds})`,
  )
const { sample } = await ask(1, { grammar, stopTokens: tokenizer.stopTokens, maxNewTokens: 160 })
console.log(tokenizer.decodeCompletion(sample.tokens))
await engine.close()
