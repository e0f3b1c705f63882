// What a restart takes over from the command line that the daemon was started with.

import { expect, test } from 'vitest'
import { wordsToKeep } from '../../daemon/cli/commands/run/restart.ts'
import { defaultConfig } from '../../daemon/config/schema.ts'
import { peerName } from '../../protocol/text.ts'

const peerId = '12D3KooWRawPbxPtP1eZaJpumGnyWX2DcUyd3RQnydr3eAto4Az7'
const named = (name: string) => {
  const config = defaultConfig()
  config.node.name = name
  return config
}

test.each([
  [
    'a name that only the command line gave',
    defaultConfig(),
    { name: 'second', peerId },
    ['--name', 'second'],
  ],
  ['not the one that its key gives', defaultConfig(), { name: peerName(peerId), peerId }, []],
  ['not one that the config says by now', named('third'), { name: 'second', peerId }, []],
  ['nothing where nothing ran', defaultConfig(), undefined, []],
])('%s', (_, config, running, words) => {
  expect(wordsToKeep(config, running)).toEqual(words)
})
