// The pages that a newcomer follows, typed as they stand. What cannot run here is named below, with the reason; its
// commands and options are checked by pages.test.ts all the same.

import { test } from 'vitest'
import { blocksOf, commandsOf, read } from './blocks.ts'
import { openSession } from './session.ts'

const LEFT_OUT: ReadonlyArray<readonly [RegExp, string]> = [
  [/^npm (ci|test)$/, 'this test is run by them'],
  [/^alias /, 'the session calls Waggle by its name'],
  [/ top( |$)/, 'needs a terminal: test/tui/tmux.test.ts drives it in one'],
  [/ chat( |$)/, 'needs somebody to talk to: test/cli drives it'],
  [/ssh|--on /, 'needs another machine'],
  [/--model \w+\/\w+/, 'needs the hub'],
]

test.each(['README.md', 'docs/tutorial.md', 'docs/datasets.md', 'docs/episodes.md', 'docs/plugins.md'])(
  '%s can be typed as it stands',
  async (page) => {
    const session = await openSession((command) => LEFT_OUT.some(([pattern]) => pattern.test(command)))
    try {
      for (const block of blocksOf(read(page))) {
        if (block.file) await session.put(block)
        if (block.language !== 'sh') continue
        const fence = `\`\`\`sh\n${block.text}\`\`\`\n`
        for (const line of commandsOf(fence)) await session.type(line)
      }
    } finally {
      await session.close()
    }
  },
  300_000,
)
