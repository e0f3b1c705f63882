// The pages that a newcomer follows, typed as they stand. What cannot run here is named below, with the reason; its
// commands and options are checked by pages.test.ts all the same.

import { test } from 'vitest'
import { deedsOf, read } from './blocks.ts'
import { openSession } from './session.ts'

const LEFT_OUT: ReadonlyArray<readonly [RegExp, string]> = [
  [/^npm (ci|test)$/, 'this test is run by them'],
  [/ plugins add /, 'needs the registry'],
  [/^curl /, 'is another program: test/control asks the same'],
  [/^alias /, 'the session calls Waggle by its name'],
  [/ top( |$)/, 'needs a terminal: test/tui/tmux.test.ts drives it in one'],
  [/ serve( |$)/, 'stays until it is stopped: test/cli drives it'],
  [/ chat( |$)/, 'needs somebody to talk to: test/cli drives it'],
  [/ssh|--on /, 'needs another machine'],
  [/--model [\w~]+\/\w+|model pull|--home qwen/, 'needs the hub'],
]

const PAGES = [
  ...['README.md', 'docs/tutorial.md', 'docs/real-model.md'],
  ...['docs/datasets.md', 'docs/episodes.md', 'docs/plugins.md'],
  ...['docs/models.md', 'docs/operating.md'],
]

test.each(PAGES)(
  '%s can be typed as it stands',
  async (page) => {
    const session = await openSession((command) => LEFT_OUT.some(([pattern]) => pattern.test(command)))
    try {
      for (const deed of deedsOf(read(page)))
        await ('put' in deed ? session.put(deed.put) : session.type(deed.type))
    } finally {
      await session.close()
    }
  },
  300_000,
)
