// waggle plugins: the plugins of the running node or, with an action, plugins without a node.

import { WaggleError } from '../../../protocol/errors.ts'
import type { Context } from '../contract.ts'

export async function run(context: Context): Promise<number> {
  const [action, ...words] = context.arguments
  switch (action) {
    case undefined:
      return (await import('./running.ts')).running(needs(context, words, 0))
    case 'list':
      if (words.length > 0 && words.join(' ') !== 'more') needs(context, words, 0, '"more", or nothing')
      return (await import('./list.ts')).list(context, words.length > 0)
    case 'check': {
      if (words.length === 0) return (await import('./check.ts')).check(context)
      return (await import('./conform.ts')).conform(needs(context, words, 1, 'a plugin, or nothing'))
    }
    case 'new':
      return (await import('./new.ts')).create(needs(context, words, 2, 'a kind and a name'))
    case 'add':
      return (await import('./add.ts')).add(needs(context, words, 1, 'an npm package'))
    default: {
      const what = 'a plugin (kind/name or a file) and an input file'
      return (await import('./try.ts')).tryOut(needs(context, words, words.length === 2 ? 2 : 1, what))
    }
  }
}

function needs(context: Context, words: readonly string[], count: number, what = 'nothing more'): Context {
  if (words.length === count) return context
  throw new WaggleError('E_USAGE', `plugins ${context.arguments[0]} takes ${what}`, {
    hint: '`waggle help plugins` explains the command.',
  })
}
