// waggle serve: a model answers over HTTP, without a node, until it is stopped.

import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { contextConfig } from '../../daemon/cli/load-config.ts'
import { loadAsked } from '../../daemon/cli/model/checkpoint.ts'
import { openModel } from '../../daemon/cli/model/open.ts'
import { formsOf } from '../../daemon/engine/stored/stored.ts'
import { eightBitFile } from '../policy/gguf/make.ts'
import { contextFor, freshHome, removeHomes, waggle, withoutTemplate } from './run-cli.ts'

afterAll(removeHomes)

/** `waggle serve` until `stop`; `trial` is the command that it tells to try. */
async function serve(model: string) {
  const listening = Promise.withResolvers<string>()
  let stop = (): void => {}
  const served = waggle(['serve', model, '--home', freshHome(), '--set', 'serve.listen=127.0.0.1:0'], {
    onSignal(handler) {
      stop = () => handler('SIGINT')
      return () => {}
    },
    onOutput(all) {
      const [, trial] = /try {2}(curl .*)/.exec(all) ?? []
      if (trial !== undefined && all.includes('Ctrl-C')) listening.resolve(trial)
    },
  })
  void served.then(({ stderr }) => listening.reject(new Error(stderr)))
  const trial = await listening.promise
  const [, url, keyFile, body] = /curl (\S+) -H .*cat '([^']+)'\)" -d '(.*)'/.exec(trial)!
  const key = readFileSync(keyFile!, 'utf8').trim()
  const ask = (authorization: string, more: object) =>
    fetch(url!, {
      ...{ method: 'POST', headers: { authorization } },
      body: JSON.stringify({ ...JSON.parse(body!), ...more, temperature: 0 }),
    })
  return { key, ask, stop, served }
}

test('serve answers with a model until a signal, and needs the key in the file that its command names', async () => {
  const { key, ask, stop, served } = await serve(resolve(import.meta.dirname, '../../models/three-tasks'))
  expect((await ask('Bearer wrong', {})).status).toBe(401)
  const messages = [{ role: 'user', content: 'Work out 4 + 7' }]
  const { model: name, choices } = (await (await ask(`Bearer ${key}`, { messages })).json()) as {
    model: string
    choices: { message: { content: string } }[]
  }
  expect([name, choices[0]!.message.content]).toEqual(['three-tasks', expect.stringContaining('<answer>')])
  stop()
  expect((await served).status).toBe(0)
})

test('the command that serve tells to try is answered by a model without a chat template', async () => {
  const { key, ask, stop, served } = await serve(withoutTemplate(freshHome()))
  expect((await ask(`Bearer ${key}`, { max_tokens: 2 })).status).toBe(200)
  stop()
  await served
})

test("a file's 8 bits are sampled from as they are", async () => {
  const home = freshHome()
  const file = await eightBitFile(home)
  const context = contextFor({ home, model: file })
  const { model } = await loadAsked(context)
  expect(Object.keys(formsOf(model.weights))).toContain('model.layers.0.mlp.down_proj.weight')
  const { engine, close } = await openModel(context, contextConfig(context).config, model)
  const [sample] = await engine.generate({
    ...{ samples: [{ prompt: Int32Array.of(1, 2), seed: 1 }], maxNewTokens: 3, stopTokens: [] },
    temperature: 1,
  })
  await close()
  expect(sample!.tokens).toHaveLength(3)
})
