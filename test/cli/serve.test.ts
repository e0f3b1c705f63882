// waggle serve: a model answers over HTTP, without a node, until it is stopped.

import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { expect, test } from 'vitest'
import { freshHome, waggle } from './run-cli.ts'

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
