// The schema of a plugin table.

import { z } from 'zod'

export const plugin = z
  .looseObject({
    use: z.string().min(1).describe('a built-in plugin, an npm package, or the path of a file'),
  })
  .describe('a plugin and its settings')
