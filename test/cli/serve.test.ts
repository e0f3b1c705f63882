// waggle serve: a model answers over HTTP, without a node, until it is stopped.

import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { expect, test } from 'vitest'
import { contextConfig } from '../../daemon/cli/load-config.ts'
import { loadAsked } from '../../daemon/cli/model/checkpoint.ts'
import { openModel } from '../../daemon/cli/model/open.ts'
import { formsOf } from '../../daemon/engine/stored/stored.ts'
import { eightBitFile } from '../policy/gguf/make.ts'
import { contextFor, freshHome, waggle } from './run-cli.ts'

test('serve answers with a model until a signal, and needs the key in the file that its command names', async () => {
  const home = freshHome()
  const model = resolve(import.meta.dirname, '../../models/three-tasks')
  const listening = Promise.withResolvers<[url: string, keyFile: string]>()
  let stop = (): void => {}
  const served = waggle(['serve', model, '--home', home, '--set', 'serve.listen=127.0.0.1:0'], {
    onSignal(handler) {
      stop = () => handler('SIGINT')
      return () => {}
    },
    onOutput(all) {
      const [, url, keyFile] = /try {2}curl (http:\S+)\/v1\S+ -H .*cat '([^']+)'/.exec(all) ?? []
      if (url !== undefined && all.includes('Ctrl-C')) listening.resolve([url, keyFile!])
    },
  })
  void served.then(({ stderr }) => listening.reject(new Error(stderr)))
  const [url, keyFile] = await listening.promise
  const key = readFileSync(keyFile, 'utf8').trim()
  const ask = (authorization: string) =>
    fetch(`${url}/v1/chat/completions`, {
      ...{ method: 'POST', headers: { authorization } },
      body: JSON.stringify({ messages: [{ role: 'user', content: 'Work out 4 + 7' }], temperature: 0 }),
    })
  expect((await ask('Bearer wrong')).status).toBe(401)
  const { model: name, choices } = (await (await ask(`Bearer ${key}`)).json()) as {
    model: string
    choices: { message: { content: string } }[]
  }
  expect([name, choices[0]!.message.content]).toEqual(['three-tasks', expect.stringContaining('<answer>')])
  stop()
  expect((await served).status).toBe(0)
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
