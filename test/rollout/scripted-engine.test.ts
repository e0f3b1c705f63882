import { expect, test } from 'vitest'
import { createControl } from '../../daemon/engine/control.ts'
import { characterTokenizer } from './characters.ts'
import { createScriptedEngine, scriptedLogprob } from './scripted-engine.ts'

const tokenizer = characterTokenizer()
const create = () =>
  createScriptedEngine({ tokenizer, write: (prompt, { seed }) => `${prompt} is ${seed}`, version: 3 })
const prompt = tokenizer.encodePrompt('x')
const settings = { temperature: 1, stopTokens: tokenizer.stopTokens, maxNewTokens: 20 }

test('a scripted engine writes its script, within the limit', async () => {
  const [whole, short] = await create().generate({
    samples: [
      { prompt, seed: 5 },
      { prompt, seed: 6, maxNewTokens: 3 },
    ],
    ...settings,
  })
  expect(tokenizer.decodeCompletion(whole!.tokens)).toBe('x is 5')
  expect(whole).toMatchObject({ finish: 'stop', version: 3 })
  expect(whole!.logprobs[2]).toBe(scriptedLogprob(5, 2))
  expect(short).toMatchObject({ finish: 'length', tokens: tokenizer.encode('x i') })
})

test('a scripted engine cuts single sequences, and goes on with them where they were cut', async () => {
  const engine = create()
  const control = createControl()
  const ended: number[] = []
  const [cut, other] = await engine.generate(
    {
      samples: [
        { prompt, seed: 1 },
        { prompt, seed: 2 },
      ],
      ...settings,
    },
    {
      control,
      onToken: ({ sample }) => sample === 1 && engine.drawn === 4 && control.cut([0]),
      onFinish: (sample) => ended.push(sample),
    },
  )
  expect(ended).toEqual([0, 1])
  expect(cut).toMatchObject({ finish: 'aborted', tokens: tokenizer.encode('x ') })
  expect(other!.finish).toBe('stop')
  const [rest] = await engine.generate({
    samples: [{ prompt: Int32Array.from([...prompt, ...cut!.tokens]), seed: 1, drawn: 2 }],
    ...settings,
  })
  expect(tokenizer.decodeCompletion(Int32Array.from([...cut!.tokens, ...rest!.tokens]))).toBe('x is 1')
  expect(rest!.logprobs[0]).toBe(scriptedLogprob(1, 2))
})
