// Runs tests with one source file replaced, as WAGGLE_MUTANT says: {"file": its path, "source": a file with the other text}.

import { readFileSync } from 'node:fs'
import { defineConfig } from 'vitest/config'

const mutant: { file: string; source: string } | undefined = JSON.parse(process.env.WAGGLE_MUTANT ?? 'null')

export default defineConfig({
  root: `${import.meta.dirname}/../../..`,
  plugins: [
    {
      name: 'mutant',
      enforce: 'pre',
      load: (id) =>
        mutant && id.split('?')[0] === mutant.file ? readFileSync(mutant.source, 'utf8') : undefined,
    },
  ],
  test: {
    include: ['test/**/*.test.ts'],
    testTimeout: 60_000,
    maxWorkers: 1,
    fileParallelism: false,
    // Imports once for all files.
    isolate: false,
    bail: 1,
    reporters: ['dot'],
  },
})
