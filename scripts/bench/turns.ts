// What conversations gain by the keys and values of their earlier turns. Some attempts at one prompt have four turns each;
// each turn's prompt is the one before it with the answer and some new text. Prompts read whole and continued, in turns.
// Processor time of the whole program, so that other programs on the machine do not count.
//
//   node --import tsx scripts/bench/turns.ts MODEL [conversations] [rounds]

import { createOnnxEngine } from '../../daemon/engine/onnx/index.ts'
import { loadModel } from '../../daemon/policy/model.ts'
import { nodeDisk } from '../../daemon/store/node-disk.ts'

const [path = 'models/default', conversations = '8', rounds = '2'] = process.argv.slice(2)
const TURNS = 4
const ANSWER = 24
const model = await loadModel(path, { disk: nodeDisk })
const { tokenizer, spec } = model
const text =
  'You may ask for a number and get it back, with a reason and the date. Then ask for the next one. '
const words = [...tokenizer.encodePrompt(text.repeat(40))]
const cut = (from: number, length: number): number[] => words.slice(from, from + length)

const engine = createOnnxEngine({ threads: 1 })
await engine.open({ spec, weights: model.weights })

interface Turn {
  seconds: number
  tokens: number
  reused: number
}

interface Played {
  turns: Turn[]
  /** All tokens of each conversation. */
  written: number[][]
}

const processorSeconds = (): number => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e6
}

async function play(
  isConversation: boolean,
  { seed, length = Math.min(300, spec.contextLength - 250) }: { seed: number; length?: number },
): Promise<Played> {
  // Nothing is kept for other weights.
  await engine.setWeights(await engine.weights())
  let prompts = Array.from({ length: Number(conversations) }, () => Int32Array.from(cut(seed, length)))
  const turns: Turn[] = []
  for (let turn = 0; turn < TURNS; turn++) {
    const started = processorSeconds()
    const samples = await Promise.all(
      prompts.map(async (prompt, i) => {
        const [sample] = await engine.generate({
          samples: [{ prompt, seed: 100 * seed + 10 * turn + i }],
          ...{ maxNewTokens: ANSWER, temperature: 1, stopTokens: [], isConversation },
        })
        return sample!
      }),
    )
    turns.push({
      seconds: processorSeconds() - started,
      tokens: prompts.reduce((sum, { length }) => sum + length, 0),
      reused: samples.reduce((sum, { reused = 0 }) => sum + reused, 0),
    })
    prompts = prompts.map((prompt, i) => Int32Array.of(...prompt, ...samples[i]!.tokens, ...cut(40 * i, 50)))
  }
  return { turns, written: prompts.map((prompt) => [...prompt]) }
}

async function told(how: 'whole' | 'continued', seed: number): Promise<Played> {
  const played = await play(how === 'continued', { seed })
  for (const [i, { seconds, tokens, reused }] of played.turns.entries())
    console.log(`${how} turn ${i + 1}: ${tokens} prompt tokens, ${reused} kept, ${seconds.toFixed(1)} s`)
  return played
}

// Compiles the graphs.
for (const isConversation of [false, true]) await play(isConversation, { seed: 0, length: 40 })
for (let round = 1; round <= Number(rounds); round++) {
  const [whole, continued] = [await told('whole', round), await told('continued', round)]
  const isSame = JSON.stringify(whole.written) === JSON.stringify(continued.written)
  const total = ({ turns }: Played): number => turns.reduce((sum, { seconds }) => sum + seconds, 0)
  console.log(
    `ratio ${(total(whole) / total(continued)).toFixed(2)}, ${isSame ? 'the same tokens' : 'other tokens'}`,
  )
}
await engine.close()
